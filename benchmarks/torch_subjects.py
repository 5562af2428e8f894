"""Twenty models as people write them, without a mistake: torch_mutations.py plants some."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

INPUTS = {
    "MLP": ["x=float32[b, 1, 28, 28]", "y=int64[b]"],
    "LeNet": ["x=float32[b, 3, 32, 32]", "y=int64[b]"],
    "ResNet": ["x=float32[b, 3, h, w]"],
    "UNet": ["x=float32[b, 3, h, w]"],
    "GPT": ["ids=int64[b, t]", "targets=int64[b, t]"],
    "ViT": ["x=float32[b, 3, 32, 32]"],
    "CrossAttention": ["x=float32[b, t, 32]", "memory=float32[b, s, 24]", "mask=bool[b, s]"],
    "Tagger": ["ids=int64[b, t]", "tags=int64[b, t]"],
    "Seq2Seq": ["source=int64[b, s]", "target=int64[b, t]"],
    "Mixer": ["x=float32[b, 3, 32, 32]"],
    "Squeeze": ["x=float32[b, 16, h, w]"],
    "VAE": ["x=float32[b, 1, 28, 28]"],
    "Generator": ["z=float32[b, 64]"],
    "TextCNN": ["ids=int64[b, t]"],
    "PointNet": ["points=float32[b, n, 3]"],
    "Graph": ["x=float32[b, n, 12]", "edges=float32[b, n, n]"],
    "Clip": ["images=float32[n, 128]", "texts=float32[n, 96]"],
    "Windows": ["x=float32[b, h, w, 32]"],
    "Experts": ["x=float32[b, t, 24]"],
    "Detector": ["x=float32[b, 3, h, w]"],
}


class MLP(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.up = nn.Linear(784, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.down = nn.Linear(hidden, 10)

    def forward(self, x, y):
        x = x.flatten(1)
        x = F.relu(self.norm(self.up(x)))
        logits = self.down(x)
        top = logits.max(dim=1, keepdim=True)[0]
        scaled = logits - top
        return F.cross_entropy(scaled, y)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 5, padding=2)
        self.second = nn.Conv2d(6, 16, 5, padding=2)
        self.full = nn.Linear(1024, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.full(x))
        return F.cross_entropy(self.out(x), y)


class Block(nn.Module):
    def __init__(self, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.norm1 = nn.BatchNorm2d(width * 2)
        self.conv2 = nn.Conv2d(width * 2, width * 2, 3, stride=1, padding=1)
        self.norm2 = nn.BatchNorm2d(width * 2)
        self.skip = nn.Conv2d(width, width * 2, 1, stride=2, padding=0)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.skip(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(Block(8), Block(16))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = x.mean(dim=(2, 3))
        return self.fc(x)


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(width * 2, width, 2, stride=2)
        self.join = nn.Conv2d(width * 2, width, 3, padding=1)
        self.leave = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        first = F.relu(self.enter(x))
        low = F.relu(self.down(first))
        up = F.interpolate(self.up(low), size=first.shape[2:])
        y = F.relu(self.join(torch.cat([up, first], dim=1)))
        return x + self.leave(y)


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        att = att.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        y = (att @ v).transpose(1, 2).reshape(b, t, c)
        return self.proj(y)


class GPT(nn.Module):
    def __init__(self, words=97, width=32, context=64):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(context, width)
        self.attention = Attention(width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, ids, targets):
        b, t = ids.shape
        x = self.words(ids) + self.places(torch.arange(t))
        x = x + self.attention(self.norm(x))
        logits = self.head(x)
        return F.cross_entropy(logits[:, :-1].reshape(-1, 97), targets[:, 1:].reshape(-1))


class ViT(nn.Module):
    def __init__(self, width=32, patch=8):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=8)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, 17, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        cls = self.cls.expand(x.shape[0], -1, -1)
        x = torch.cat([cls, x], dim=1) + self.places
        x = self.layer(x)
        return self.head(x[:, 0])


class CrossAttention(nn.Module):
    def __init__(self, width=32, inner=24, heads=4):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(inner, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, memory, mask):
        b, t, d = x.shape
        s = memory.shape[1]
        q = self.q(x).view(b, t, self.heads, -1).permute(0, 2, 1, 3)
        kv = self.kv(memory).view(b, s, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        k, v = kv[0], kv[1]
        att = torch.matmul(q, k.transpose(-1, -2))
        att = att.masked_fill(mask[:, None, None, :], -1e9).softmax(-1)
        y = torch.matmul(att, v).permute(0, 2, 1, 3).reshape(b, t, d)
        return x + self.out(y)


class Tagger(nn.Module):
    def __init__(self, words=50, width=16, hidden=24):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 7)

    def forward(self, ids, tags):
        x, (h, _) = self.rnn(self.words(ids))
        both = torch.cat([h[0], h[1]], dim=1)
        x = x + both.unsqueeze(1)
        logits = self.out(x)
        return F.cross_entropy(logits.transpose(1, 2), tags)


class Seq2Seq(nn.Module):
    def __init__(self, words=50, width=16, hidden=24):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.encoder = nn.GRU(width, hidden, batch_first=True)
        self.decoder = nn.GRU(width, hidden, batch_first=True)
        self.mix = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, words)

    def forward(self, source, target):
        memory, state = self.encoder(self.words(source))
        x, _ = self.decoder(self.words(target), state)
        scores = torch.bmm(x, memory.transpose(1, 2)).softmax(dim=-1)
        context = torch.bmm(scores, memory)
        x = torch.tanh(self.mix(torch.cat([x, context], dim=2)))
        logits = self.out(x)
        return F.nll_loss(F.log_softmax(logits[:, :-1], dim=-1).flatten(0, 1), target[:, 1:].flatten())


class Mixer(nn.Module):
    def __init__(self, width=32, tokens=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.norm = nn.LayerNorm(width)
        self.over = nn.Linear(tokens, tokens)
        self.along = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        y = self.over(self.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x + y
        x = x + self.along(self.norm(x))
        return self.head(x.mean(dim=1))


class Squeeze(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=16)
        self.norm = nn.LayerNorm(width)
        self.down = nn.Linear(width, 4)
        self.up = nn.Linear(4, width)
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.depth(x).permute(0, 2, 3, 1)
        y = self.gamma * self.norm(y)
        y = y.permute(0, 3, 1, 2)
        gate = self.up(F.relu(self.down(y.mean(dim=(2, 3)))))
        y = y * torch.sigmoid(gate)[:, :, None, None]
        return x + y


class VAE(nn.Module):
    def __init__(self, latent=20):
        super().__init__()
        self.enter = nn.Linear(784, 100)
        self.mean = nn.Linear(100, latent)
        self.spread = nn.Linear(100, latent)
        self.leave = nn.Sequential(nn.Linear(latent, 100), nn.ReLU(), nn.Linear(100, 784))

    def forward(self, x):
        h = F.relu(self.enter(x.flatten(1)))
        mean, spread = self.mean(h), self.spread(h)
        z = mean + torch.randn_like(spread) * (0.5 * spread).exp()
        y = self.leave(z).view(-1, 1, 28, 28)
        apart = F.mse_loss(y, x, reduction="none").sum(dim=(1, 2, 3))
        prior = -0.5 * (1 + spread - mean**2 - spread.exp()).sum(dim=1)
        return (apart + prior).mean()


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.enter = nn.Linear(64, width * 4 * 4)
        self.up1 = nn.ConvTranspose2d(width, 16, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1)
        self.leave = nn.Conv2d(8, 3, 3, padding=1)
        self.noise = nn.Parameter(torch.zeros(1, 8, 16, 16))

    def forward(self, z):
        x = self.enter(z).view(z.shape[0], 32, 4, 4)
        x = F.relu(self.up1(x))
        x = F.relu(self.up2(x)) + self.noise
        return torch.tanh(self.leave(x))


class TextCNN(nn.Module):
    def __init__(self, words=50, width=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.wide = nn.ModuleList([nn.Conv1d(width, 10, k, padding=k // 2) for k in (3, 5)])
        self.out = nn.Linear(20, 2)

    def forward(self, ids):
        x = self.words(ids).transpose(1, 2)
        found = [F.relu(conv(x)).amax(dim=2) for conv in self.wide]
        return self.out(torch.cat(found, dim=1))


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Linear(3, 9)
        self.first = nn.Conv1d(3, 32, 1)
        self.second = nn.Conv1d(64, 40, 1)
        self.head = nn.Linear(40, 6)

    def forward(self, points):
        centred = points - points.mean(dim=1, keepdim=True)
        turned = torch.bmm(centred, self.turn(centred.amax(dim=1)).view(-1, 3, 3))
        x = F.relu(self.first(turned.transpose(1, 2)))
        whole = x.amax(dim=2, keepdim=True).expand(-1, -1, x.shape[2])
        x = F.relu(self.second(torch.cat([x, whole], dim=1)))
        return self.head(x.transpose(1, 2))


class Graph(nn.Module):
    def __init__(self, width=12, hidden=20):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.left = nn.Linear(hidden, 1)
        self.right = nn.Linear(hidden, 1)

    def forward(self, x, edges):
        edges = edges / edges.sum(dim=-1, keepdim=True)
        x = F.relu(torch.bmm(edges, self.first(x)))
        pairs = self.left(x) + self.right(x).transpose(1, 2)
        weights = pairs.masked_fill(edges == 0, -1e9).softmax(dim=-1)
        x = weights @ self.second(x)
        return x.sum(dim=1)


class Clip(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.image = nn.Linear(128, width)
        self.text = nn.Linear(96, width)

    def forward(self, images, texts):
        a, c = self.image(images), self.text(texts)
        a = a / a.norm(dim=1, keepdim=True)
        c = c / c.norm(dim=1, keepdim=True)
        scores = a @ c.t() * 10.0
        wanted = torch.arange(scores.shape[0])
        return F.cross_entropy(scores, wanted) + F.cross_entropy(scores.t(), wanted)


class Windows(nn.Module):
    def __init__(self, width=32, heads=2, size=4):
        super().__init__()
        self.size, self.heads = size, heads
        self.qkv = nn.Linear(width, 3 * width)
        self.bias = nn.Parameter(torch.zeros(heads, size * size, size * size))
        self.merge = nn.Linear(4 * width, 2 * width)

    def forward(self, x):
        b, h, w, c = x.shape
        s = self.size
        y = x.view(b, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)
        q, k, v = self.qkv(y).view(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1) + self.bias).softmax(dim=-1)
        y = (att @ v).transpose(1, 2).reshape(-1, s * s, c)
        y = y.view(b, h // s, w // s, s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + y
        parts = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
        return self.merge(torch.cat(parts, dim=-1))


class Experts(nn.Module):
    def __init__(self, width=24, hidden=48, experts=3):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.zeros(experts, width, hidden))
        self.down = nn.Parameter(torch.zeros(experts, hidden, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        gate = self.gate(x).softmax(dim=-1)
        inner = F.gelu(torch.einsum("btd,edh->beth", x, self.up))
        each = torch.einsum("beth,ehd->betd", inner, self.down)
        y = (each * gate.transpose(1, 2).unsqueeze(-1)).sum(dim=1)
        return self.norm(x + y)


class Detector(nn.Module):
    def __init__(self, width=32, boxes=5):
        super().__init__()
        self.body = nn.Conv2d(3, width, 8, stride=8)
        self.queries = nn.Parameter(torch.zeros(boxes, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.places = nn.Linear(width, 4)
        self.kinds = nn.Linear(width, 9)

    def forward(self, x):
        memory = self.body(x).flatten(2).permute(0, 2, 1)
        queries = self.queries.unsqueeze(0).repeat(x.shape[0], 1, 1)
        y, _ = self.attention(queries, memory, memory)
        y = queries + y
        return torch.cat([self.places(y).sigmoid(), self.kinds(y)], dim=-1)
