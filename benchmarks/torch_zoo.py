"""Models for torch_models.py: own ones, and small configurations of torch.nn, torchvision, timm and transformers, with random
weights.

A row of MODELS is `name | Python that builds it | --arg | --arg ...`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Forward(nn.Module):
    """A model with some arguments fixed, of whose result one part is taken."""

    def __init__(self, model: nn.Module, part: str | None = None, **fixed: object) -> None:
        super().__init__()
        self.model, self.part, self.fixed = model, part, fixed

    def forward(self, **given: object) -> Any:
        found = self.model(**given, **self.fixed)
        return found if self.part is None else found[self.part]


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(48, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class UNet(nn.Module):
    """Down twice, up twice, with skips."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv2d(width * n, width * n * 2, 3, stride=2, padding=1) for n in (1, 2))
        self.up = nn.ModuleList(nn.ConvTranspose2d(width * n * 2, width * n, 2, stride=2) for n in (2, 1))
        self.join = nn.ModuleList(nn.Conv2d(width * n * 2, width * n, 3, padding=1) for n in (2, 1))
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        skips = []
        for down in self.down:
            skips.append(x)
            x = F.relu(down(x))
        for up, join in zip(self.up, self.join, strict=True):
            x = F.relu(join(torch.cat([up(x), skips.pop()], dim=1)))
        return self.last(x)


class Residual(nn.Module):
    """A block of a diffusion U-Net: the time is added to each channel."""

    def __init__(self, width: int, time: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.convolution, self.time = nn.Conv2d(width, width, 3, padding=1), nn.Linear(time, width)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return x + self.convolution(F.silu(self.norm(x))) + self.time(F.silu(t))[:, :, None, None]


class Looking(nn.Module):
    """Attention over all places of a picture."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.qkv = nn.GroupNorm(4, width), nn.Conv1d(width, 3 * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        b, c, *spatial = x.shape
        q, k, v = self.qkv(self.norm(x).reshape(b, c, -1)).chunk(3, dim=1)
        weights = torch.einsum("bct,bcs->bts", q * c**-0.5, k).softmax(dim=-1)
        return x + torch.einsum("bts,bcs->bct", weights, v).reshape(b, c, *spatial)


class DiffusionUNet(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.width, self.time = width, nn.Linear(width, width)
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.blocks = nn.ModuleList(Residual(width, width) for _ in range(4))
        self.middle, self.down = Looking(width), nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.join = nn.Conv2d(2 * width, width, 1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        angles = t.float()[:, None] * torch.exp(torch.arange(self.width // 2) * -1.0)
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        skip = self.blocks[0](self.first(x), time)
        x = self.blocks[1](self.down(skip), time)
        x = self.blocks[2](self.middle(x), time)
        x = F.interpolate(x, size=skip.shape[2:], mode="nearest")
        return self.last(self.blocks[3](self.join(torch.cat([x, skip], dim=1)), time))


class Tagger(nn.Module):
    """Words to tags by a recurrent layer."""

    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM, both: bool = True) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.layer = kind(16, 12, num_layers=2, batch_first=True, bidirectional=both)
        self.tags = nn.Linear(24 if both else 12, 7)

    def forward(self, ids: Tensor) -> Tensor:
        return self.tags(self.layer(self.words(ids))[0])


class Detr(nn.Module):
    """The demonstration of DETR: a picture to boxes and classes."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 4, stride=4), nn.ReLU(), nn.Conv2d(16, width, 2, stride=2))
        self.transformer = nn.Transformer(width, 4, 2, 2, 64)
        self.classes, self.boxes = nn.Linear(width, 11), nn.Linear(width, 4)
        self.queries = nn.Parameter(torch.rand(10, width))
        self.rows, self.columns = nn.Parameter(torch.rand(50, width // 2)), nn.Parameter(torch.rand(50, width // 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.backbone(x)
        height, width = h.shape[-2:]
        columns = self.columns[:width].unsqueeze(0).repeat(height, 1, 1)
        rows = self.rows[:height].unsqueeze(1).repeat(1, width, 1)
        places = torch.cat([columns, rows], dim=-1).flatten(0, 1).unsqueeze(1)
        queries = self.queries.unsqueeze(1).repeat(1, x.shape[0], 1)
        h = self.transformer(places + 0.1 * h.flatten(2).permute(2, 0, 1), queries).transpose(0, 1)
        return self.classes(h), self.boxes(h).sigmoid()


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1))
        self.last = nn.Linear(32, 5)

    def forward(self, points: Tensor) -> Tensor:
        return self.last(self.each(points.transpose(1, 2)).max(dim=2)[0])


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.places = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16))
        self.tokens = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.last = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.places(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x.mean(dim=1))


class WaveNet(nn.Module):
    """Convolutions that look back only."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**n) for n in range(4))
        self.first, self.last = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for n, layer in enumerate(self.layers):
            a, b = layer(F.pad(x, (2**n, 0))).chunk(2, dim=1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
        return self.last(x)


class Recommender(nn.Module):
    """Numbers and categories to one number."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 8) for n in (10, 20, 30))
        self.bottom, self.top = nn.Linear(4, 8), nn.Linear(8 + 6, 1)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        each = [self.bottom(numbers)] + [table(categories[:, n]) for n, table in enumerate(self.tables)]
        rows = torch.stack(each, dim=1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, offset=-1)
        return torch.sigmoid(self.top(torch.cat([each[0], products[:, i, j]], dim=1))).squeeze(1)


class AutoEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.spread = nn.Linear(20, 8), nn.Linear(20, 8)
        self.decoder = nn.Linear(8, 20)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, spread = self.encoder(x), self.spread(x)
        hidden = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        lost = F.mse_loss(self.decoder(hidden), x) - 0.5 * (1 + spread - mean.pow(2) - spread.exp()).mean()
        return self.decoder(hidden), lost


class Graph(nn.Module):
    """Messages along edges, summed at the nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        sent = self.message(torch.cat([nodes[edges[0]], nodes[edges[1]]], dim=-1)).relu()
        received = torch.zeros_like(nodes).index_add(0, edges[1], sent)
        return self.update(torch.cat([nodes, received], dim=-1))


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(10, 6)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return F.cosine_similarity(F.normalize(self.layer(a), dim=-1), F.normalize(self.layer(b), dim=-1), dim=-1)


class Conformer(nn.Module):
    """Sound to words: convolutions in time, then attention."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(20, 16, 3, stride=2, padding=1), nn.GELU())
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.deep, self.norm = nn.Conv1d(16, 16, 3, padding=1, groups=16), nn.LayerNorm(16)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.attention(self.norm(x), x, x, need_weights=False)[0]
        return x + F.glu(torch.cat([self.deep(x.transpose(1, 2))] * 2, dim=1), dim=1).transpose(1, 2)


SMALL = "hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32"
MODELS = f"""
perceptron | Perceptron() | x=float32[b, 3, h, w]
unet | UNet() | x=float32[b, 3, h, w]
diffusion unet | DiffusionUNet() | x=float32[b, 3, h, w] | t=int64[b]
lstm | Tagger() | ids=int64[b, t]
gru | Tagger(nn.GRU, False) | ids=int64[b, t]
rnn | Tagger(nn.RNN, False) | ids=int64[b, t]
detr, own | Detr() | x=float32[b, 3, h, w]
pointnet | PointNet() | points=float32[b, n, 3]
mixer, own | Mixer() | x=float32[b, 3, h, w]
wavenet | WaveNet() | x=float32[b, 1, t]
recommender | Recommender() | numbers=float32[b, 4] | categories=int64[b, 3]
autoencoder | AutoEncoder() | x=float32[b, 20]
graph | Graph() | nodes=float32[n, 8] | edges=int64[2, m]
siamese | Siamese() | a=float32[b, 10] | b=float32[b, 10]
conformer | Conformer() | x=float32[b, t, 20]
transformer | nn.Transformer(16, 4, 1, 1, 32, batch_first=True) | src=float32[b, t, 16] | tgt=float32[b, s, 16]
encoder | nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32), 2, enable_nested_tensor=False) |
    src=float32[t, b, 16]
decoder | nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32), 2) | tgt=float32[t, b, 16] |
    memory=float32[s, b, 16]
attention | nn.MultiheadAttention(16, 4, batch_first=True) | query=float32[b, t, 16] | key=float32[b, s, 16] |
    value=float32[b, s, 16]
resnet18 | torchvision.models.resnet18(num_classes=10) | x=float32[b, 3, h, w]
vgg11 | torchvision.models.vgg11(num_classes=10) | x=float32[b, 3, h, w]
alexnet | torchvision.models.alexnet(num_classes=10) | x=float32[b, 3, h, w]
squeezenet | torchvision.models.squeezenet1_1(num_classes=10) | x=float32[b, 3, h, w]
densenet | torchvision.models.DenseNet(8, (2, 2), 16, num_classes=10) | x=float32[b, 3, h, w]
googlenet | torchvision.models.googlenet(num_classes=10, aux_logits=False, init_weights=False) | x=float32[b, 3, h, w]
mobilenet_v2 | torchvision.models.mobilenet_v2(num_classes=10) | x=float32[b, 3, h, w]
mobilenet_v3 | torchvision.models.mobilenet_v3_small(num_classes=10) | x=float32[b, 3, h, w]
shufflenet | torchvision.models.shufflenet_v2_x0_5(num_classes=10) | x=float32[b, 3, h, w]
mnasnet | torchvision.models.mnasnet0_5(num_classes=10) | x=float32[b, 3, h, w]
regnet | torchvision.models.regnet_y_400mf(num_classes=10) | x=float32[b, 3, h, w]
efficientnet_b0 | torchvision.models.efficientnet_b0(num_classes=10) | x=float32[b, 3, h, w]
convnext | torchvision.models.convnext_tiny(num_classes=10) | x=float32[b, 3, h, w]
swin_t | torchvision.models.swin_t(num_classes=10) | x=float32[b, 3, h, w]
vit_b_16 | torchvision.models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=10) | x=float32[b, 3, h, w]
maxvit | torchvision.models.MaxVit((56, 56), 8, 7, [8, 16], [1, 1], 4, 0.0, num_classes=10) | x=float32[b, 3, h, w]
deeplabv3 | torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=5) |
    x=float32[b, 3, h, w]
fcn | torchvision.models.segmentation.fcn_resnet50(weights_backbone=None, num_classes=5) | x=float32[b, 3, h, w]
lraspp | torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=5) |
    input=float32[b, 3, h, w]
r3d | torchvision.models.video.r3d_18(num_classes=10) | x=float32[b, 3, t, h, w]
timm vit | timm.create_model("vit_tiny_patch16_224", depth=2) | x=float32[b, 3, h, w]
timm vit, free | timm.create_model("vit_tiny_patch16_224", depth=2, dynamic_img_size=True) | x=float32[b, 3, h, w]
timm swin | timm.create_model("swin_tiny_patch4_window7_224", depths=(2, 2)) | x=float32[b, 3, h, w]
timm convnext | timm.create_model("convnext_atto") | x=float32[b, 3, h, w]
timm efficientnet | timm.create_model("efficientnet_lite0") | x=float32[b, 3, h, w]
timm resnet | timm.create_model("resnet10t") | x=float32[b, 3, h, w]
timm mixer | timm.create_model("mixer_s32_224") | x=float32[b, 3, h, w]
timm deit | timm.create_model("deit_tiny_distilled_patch16_224", depth=2) | x=float32[b, 3, h, w]
timm ghostnet | timm.create_model("ghostnet_050") | x=float32[b, 3, h, w]
timm poolformer | timm.create_model("poolformer_s12") | x=float32[b, 3, h, w]
timm regnet | timm.create_model("regnetx_002") | x=float32[b, 3, h, w]
timm mobilevit | timm.create_model("mobilevit_xxs") | x=float32[b, 3, h, w]
timm features | timm.create_model("resnet10t", features_only=True) | x=float32[b, 3, h, w]
bert | transformers.BertModel(transformers.BertConfig({SMALL}, vocab_size=50, max_position_embeddings=32)) |
    input_ids=int64[b, t]
bert, masked | transformers.BertModel(transformers.BertConfig({SMALL}, vocab_size=50, max_position_embeddings=32)) |
    input_ids=int64[b, t] | attention_mask=int64[b, t]
distilbert | transformers.DistilBertModel(transformers.DistilBertConfig(dim=16, n_layers=2, n_heads=4, hidden_dim=32,
    vocab_size=50, max_position_embeddings=32)) | input_ids=int64[b, t]
roberta | transformers.RobertaModel(transformers.RobertaConfig({SMALL}, vocab_size=50, max_position_embeddings=34)) |
    input_ids=int64[b, t]
albert | transformers.AlbertModel(transformers.AlbertConfig({SMALL}, vocab_size=50, embedding_size=8)) |
    input_ids=int64[b, t]
gpt2 | transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=2, n_head=4, vocab_size=50,
    n_positions=64, bos_token_id=0, eos_token_id=0)) | input_ids=int64[b, t]
llama | transformers.LlamaForCausalLM(transformers.LlamaConfig({SMALL}, vocab_size=50, num_key_value_heads=2)) |
    input_ids=int64[b, t]
llama, no cache | Forward(transformers.LlamaForCausalLM(transformers.LlamaConfig({SMALL}, vocab_size=50)),
    use_cache=False) | input_ids=int64[b, t]
mistral | transformers.MistralModel(transformers.MistralConfig({SMALL}, vocab_size=50, num_key_value_heads=2)) |
    input_ids=int64[b, t]
qwen2 | transformers.Qwen2Model(transformers.Qwen2Config({SMALL}, vocab_size=50, num_key_value_heads=2)) |
    input_ids=int64[b, t]
opt | transformers.OPTModel(transformers.OPTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    ffn_dim=32, vocab_size=50, max_position_embeddings=64, word_embed_proj_dim=16)) | input_ids=int64[b, t]
bloom | transformers.BloomModel(transformers.BloomConfig(vocab_size=50, hidden_size=16, n_layer=2, n_head=4)) |
    input_ids=int64[b, t]
t5 | transformers.T5Model(transformers.T5Config(vocab_size=50, d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=4)) |
    input_ids=int64[b, t] | decoder_input_ids=int64[b, s]
bart | transformers.BartModel(transformers.BartConfig(vocab_size=50, d_model=16, encoder_layers=1, decoder_layers=1,
    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32,
    max_position_embeddings=64)) | input_ids=int64[b, t] | decoder_input_ids=int64[b, s]
whisper | transformers.WhisperModel(transformers.WhisperConfig(vocab_size=50, d_model=16, encoder_layers=1,
    decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32,
    num_mel_bins=8, max_source_positions=50, max_target_positions=20, pad_token_id=0)) |
    input_features=float32[b, 8, t] | decoder_input_ids=int64[b, s]
clip | transformers.CLIPModel(transformers.CLIPConfig(text_config=dict({SMALL}, vocab_size=50,
    max_position_embeddings=16, projection_dim=8, eos_token_id=2), vision_config=dict({SMALL}, image_size=32,
    patch_size=8, projection_dim=8), projection_dim=8)) | input_ids=int64[n, t] | pixel_values=float32[b, 3, h, w]
hf vit | transformers.ViTModel(transformers.ViTConfig({SMALL}, image_size=32, patch_size=8)) |
    pixel_values=float32[b, 3, h, w]
dinov2 | transformers.Dinov2Model(transformers.Dinov2Config(hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    image_size=28, patch_size=7)) | pixel_values=float32[b, 3, h, w]
wav2vec2 | transformers.Wav2Vec2Model(transformers.Wav2Vec2Config({SMALL}, vocab_size=50, conv_dim=(8, 8),
    conv_kernel=(10, 3), conv_stride=(5, 2), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
    num_feat_extract_layers=2)) | input_values=float32[b, t]
segformer | transformers.SegformerModel(transformers.SegformerConfig(hidden_sizes=[8, 8], depths=[1, 1],
    num_encoder_blocks=2, sr_ratios=[2, 1], patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2],
    mlp_ratios=[2, 2])) | pixel_values=float32[b, 3, h, w]
hf convnext | transformers.ConvNextModel(transformers.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)) |
    pixel_values=float32[b, 3, h, w]
hf resnet | transformers.ResNetModel(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 1])) |
    pixel_values=float32[b, 3, h, w]
"""


def rows(only: str = "") -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """The Python and the arguments of each model."""
    found = {}
    for line in MODELS.strip().replace("\n    ", " ").splitlines():
        name, built, *arguments = line.split(" | ")
        if re.search(only, name):
            found[name] = (built, tuple(arguments))
    return found


def build(python: str) -> nn.Module:
    """A model of a row, in evaluation."""
    scope = dict(globals())
    for library in ("torchvision", "timm", "transformers"):
        if library + "." in python:
            scope[library] = _imported(library)
    torch.manual_seed(0)
    model: nn.Module = eval(python, scope)
    return model.eval()


def _imported(library: str) -> Any:
    if library == "torchvision":
        define_vision()
        import torchvision

        return torchvision
    if library == "timm":
        define_vision()
        import timm

        return timm
    define_vision()
    import transformers

    return transformers


_kept: list[torch.library.Library] = []


def define_vision() -> None:
    """The two operators that torchvision asks for at its import, where its own binary does not fit this torch."""
    if _kept:
        return
    _kept.append(torch.library.Library("torchvision", "FRAGMENT"))
    for name in ("nms", "qnms"):
        _kept[0].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
