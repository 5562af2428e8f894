"""More models as people write them, read by tests/frontends/torch/test_idioms.py behind those of models.py."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SConv1d(nn.Module):
    def __init__(self, cin, cout, kernel, stride=1, dilation=1, causal=True):
        super().__init__()
        self.conv = nn.utils.weight_norm(nn.Conv1d(cin, cout, kernel, stride, dilation=dilation))
        self.causal = causal

    def extra(self, x, kernel, stride, padding_total=0):
        length = x.shape[-1]
        n_frames = (length - kernel + padding_total) / stride + 1
        ideal = (math.ceil(n_frames) - 1) * stride + (kernel - padding_total)
        return ideal - length

    def forward(self, x):
        B, C, T = x.shape
        kernel = (self.conv.kernel_size[0] - 1) * self.conv.dilation[0] + 1
        stride = self.conv.stride[0]
        total = kernel - stride
        extra = self.extra(x, kernel, stride, total)
        x = F.pad(x, (total, extra))
        return self.conv(x)


class CodecEncoder(nn.Module):
    def __init__(self, filters=4, ratios=(2, 4)):
        super().__init__()
        layers = [SConv1d(1, filters, 7)]
        for r in ratios:
            layers += [nn.ELU(), SConv1d(filters, filters * 2, r * 2, r)]
            filters *= 2
        self.model = nn.Sequential(*layers)

    def forward(self, wav):
        return self.model(wav)


class RWKVTimeMix(nn.Module):
    def __init__(self, n_embd=16):
        super().__init__()
        self.time_decay = nn.Parameter(torch.ones(n_embd))
        self.time_first = nn.Parameter(torch.ones(n_embd))
        self.time_mix_k = nn.Parameter(torch.ones(1, 1, n_embd))
        self.time_mix_v = nn.Parameter(torch.ones(1, 1, n_embd))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.receptance = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        B, T, C = x.size()
        xx = self.time_shift(x)
        xk = x * self.time_mix_k + xx * (1 - self.time_mix_k)
        xv = x * self.time_mix_v + xx * (1 - self.time_mix_v)
        k, v, r = self.key(xk), self.value(xv), self.receptance(xk)
        k = torch.exp(torch.clamp(k, max=60))
        kv = k * v
        decay = torch.arange(T - 1, -1, -1).float()[:, None] * -torch.exp(self.time_decay)[None]
        w = decay.exp()
        num = torch.cumsum(kv * w[None], dim=1)
        den = torch.cumsum(k * w[None], dim=1) + 1e-8
        return torch.sigmoid(r) * (num / den)


class ProbAttention(nn.Module):
    def __init__(self, factor=2, n_heads=2, d_model=8):
        super().__init__()
        self.factor, self.n_heads = factor, n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)

    def forward(self, queries):
        B, L, _ = queries.shape
        H = self.n_heads
        Q = self.q(queries).view(B, L, H, -1).transpose(2, 1)
        K = self.k(queries).view(B, L, H, -1).transpose(2, 1)
        V = self.v(queries).view(B, L, H, -1).transpose(2, 1)
        u = min(self.factor * 2, L)
        index_sample = torch.randint(L, (L, u))
        K_expand = K.unsqueeze(-3).expand(B, H, L, L, K.shape[-1])
        K_sample = K_expand[:, :, torch.arange(L).unsqueeze(1), index_sample, :]
        Q_K_sample = torch.matmul(Q.unsqueeze(-2), K_sample.transpose(-2, -1)).squeeze(-2)
        M = Q_K_sample.max(-1)[0] - torch.div(Q_K_sample.sum(-1), L)
        M_top = M.topk(u, sorted=False)[1]
        Q_reduce = Q[torch.arange(B)[:, None, None], torch.arange(H)[None, :, None], M_top, :]
        scores = torch.matmul(Q_reduce, K.transpose(-2, -1)) / math.sqrt(Q.shape[-1])
        attn = torch.softmax(scores, dim=-1)
        context = V.mean(dim=-2).unsqueeze(-2).expand(B, H, L, V.shape[-1]).clone()
        context[torch.arange(B)[:, None, None], torch.arange(H)[None, :, None], M_top, :] = torch.matmul(
            attn, V
        ).type_as(context)
        return context.transpose(2, 1).contiguous().view(B, L, -1)


def window_partition(x, window_size):
    B, H, W, C = x.shape
    pad_h = (window_size - H % window_size) % window_size
    pad_w = (window_size - W % window_size) % window_size
    if pad_h > 0 or pad_w > 0:
        x = F.pad(x, (0, 0, 0, pad_w, 0, pad_h))
    Hp, Wp = H + pad_h, W + pad_w
    x = x.view(B, Hp // window_size, window_size, Wp // window_size, window_size, C)
    windows = x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)
    return windows, (Hp, Wp)


def window_unpartition(windows, window_size, pad_hw, hw):
    Hp, Wp = pad_hw
    H, W = hw
    B = windows.shape[0] // (Hp * Wp // window_size // window_size)
    x = windows.view(B, Hp // window_size, Wp // window_size, window_size, window_size, -1)
    x = x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, Hp, Wp, -1)
    if Hp > H or Wp > W:
        x = x[:, :H, :W, :].contiguous()
    return x


class WindowBlock(nn.Module):
    def __init__(self, dim=8, window=4):
        super().__init__()
        self.window, self.proj, self.norm = window, nn.Linear(dim, dim), nn.LayerNorm(dim)

    def forward(self, x):
        shortcut = x
        x = self.norm(x)
        H, W = x.shape[1], x.shape[2]
        x, pad_hw = window_partition(x, self.window)
        x = self.proj(x)
        x = window_unpartition(x, self.window, pad_hw, (H, W))
        return shortcut + x


def max_fn(x):
    x_max = torch.where(x > 0, x, torch.zeros_like(x))
    return x_max / torch.sum(x_max, dim=1, keepdim=True)


def norm_logits(logits, temperature: float, top_k: int):
    assert logits.dim() == 2
    logits = logits / temperature
    filter = torch.topk(logits, min(top_k, logits.size(-1)))[0]
    logits[logits < filter[:, [-1]]] = float("-inf")
    return F.softmax(logits, dim=1)


def speculative_accept(draft_logits, target_logits, draft_tokens):
    b, g, v = draft_logits.shape
    assert target_logits.shape == (b, g + 1, v)
    p = torch.softmax(target_logits[:, :-1], -1)
    q = torch.softmax(draft_logits, -1)
    p_tok = torch.gather(p, -1, draft_tokens.unsqueeze(-1)).squeeze(-1)
    q_tok = torch.gather(q, -1, draft_tokens.unsqueeze(-1)).squeeze(-1)
    accept = torch.rand_like(p_tok) < torch.clamp(p_tok / q_tok, max=1.0)
    n_accept = accept.long().cumprod(dim=-1).sum(dim=-1)
    idx = n_accept.clamp(max=g - 1)
    residual = max_fn((p - q)[torch.arange(b), idx])
    return n_accept, residual, norm_logits(target_logits[:, -1], 0.7, 5)


@torch.jit.script
def fused_gelu(x: torch.Tensor, bias: torch.Tensor):
    x = x + bias
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class Ensemble(nn.Module):
    def __init__(self, members=4, width=6):
        super().__init__()
        self.first = nn.utils.parametrizations.spectral_norm(nn.Linear(5, width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.heads = nn.Parameter(torch.zeros(members, width, 3))

    def forward(self, x):
        h = fused_gelu(self.first(x), self.bias)
        each = torch.vmap(lambda head, h: h @ head, in_dims=(0, None))(self.heads, h)
        return each.as_strided((x.shape[0], 3), (3, 1))
