"""Models as people write them, whose contracts and planted mistakes tests/frontends/torch/test_idioms.py has."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def precompute_freqs(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    t = torch.arange(end)
    return torch.outer(t, freqs)


def apply_rope(x, freqs):
    cos, sin = freqs.cos()[None, :, None], freqs.sin()[None, :, None]
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).flatten(-2)


def repeat_kv(x, n_rep):
    bs, slen, n_kv, hd = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv, n_rep, hd).reshape(bs, slen, n_kv * n_rep, hd)


class GQA(nn.Module):
    def __init__(self, dim=32, heads=4, kv_heads=2, max_len=24):
        super().__init__()
        self.h, self.kv, self.hd = heads, kv_heads, dim // heads
        self.norm = RMSNorm(dim)
        self.wq = nn.Linear(dim, heads * self.hd, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(heads * self.hd, dim, bias=False)
        self.register_buffer("freqs", precompute_freqs(self.hd, max_len), persistent=False)

    def forward(self, x):
        bsz, seqlen, _ = x.shape
        h = self.norm(x)
        q = self.wq(h).view(bsz, seqlen, self.h, self.hd)
        k = self.wk(h).view(bsz, seqlen, self.kv, self.hd)
        v = self.wv(h).view(bsz, seqlen, self.kv, self.hd)
        freqs = self.freqs[:seqlen]
        q, k = apply_rope(q, freqs), apply_rope(k, freqs)
        k, v = repeat_kv(k, self.h // self.kv), repeat_kv(v, self.h // self.kv)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.hd)
        mask = torch.full((seqlen, seqlen), float("-inf"), device=x.device).triu(diagonal=1)
        scores = F.softmax((scores + mask).float(), dim=-1).type_as(q)
        out = (scores @ v).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return x + self.wo(out)


class SpectralConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1, modes2):
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.modes1, self.modes2 = modes1, modes2
        scale = 1 / (in_channels * out_channels)
        self.weights1 = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes1, modes2, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes1, modes2, dtype=torch.cfloat))

    def compl_mul2d(self, input, weights):
        return torch.einsum("bixy,ioxy->boxy", input, weights)

    def forward(self, x):
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(
            batchsize, self.out_channels, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device
        )
        out_ft[:, :, : self.modes1, : self.modes2] = self.compl_mul2d(
            x_ft[:, :, : self.modes1, : self.modes2], self.weights1
        )
        out_ft[:, :, -self.modes1 :, : self.modes2] = self.compl_mul2d(
            x_ft[:, :, -self.modes1 :, : self.modes2], self.weights2
        )
        return torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1)))


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.lin = nn.Linear(in_dim, out_dim)

    def forward(self, x, edge_index):
        src, dst = edge_index[0], edge_index[1]
        deg = torch.zeros(x.size(0), device=x.device).index_add_(0, dst, torch.ones_like(dst, dtype=x.dtype))
        norm = deg.clamp(min=1).pow(-0.5)
        msg = self.lin(x)[src] * (norm[src] * norm[dst]).unsqueeze(-1)
        out = torch.zeros(x.size(0), msg.size(-1), device=x.device)
        out.index_add_(0, dst, msg)
        return out


class GNN(nn.Module):
    def __init__(self, in_dim=6, hidden=12, classes=3):
        super().__init__()
        self.conv1 = GCNLayer(in_dim, hidden)
        self.conv2 = GCNLayer(hidden, hidden)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x, edge_index, batch, num_graphs=4):
        x = F.relu(self.conv1(x, edge_index))
        x = F.relu(self.conv2(x, edge_index)) + x
        pooled = torch.zeros(num_graphs, x.size(1)).scatter_add_(0, batch[:, None].expand_as(x), x)
        peak = torch.full((num_graphs, x.size(1)), -1e9).scatter_reduce(
            0, batch[:, None].expand(-1, x.size(1)), x, reduce="amax"
        )
        return self.head(torch.cat([pooled, peak], dim=1))


class Seq2Seq(nn.Module):
    def __init__(self, vocab=40, emb=12, hid=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb, padding_idx=0)
        self.enc = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hid, hid)
        self.dec = nn.GRU(emb, hid, batch_first=True)
        self.wa = nn.Linear(hid, 2 * hid, bias=False)
        self.out = nn.Linear(3 * hid, vocab)

    def forward(self, src, tgt):
        src_mask = src.ne(0)
        lengths = src_mask.sum(1).clamp(min=1)
        packed = pack_padded_sequence(self.emb(src), lengths.cpu(), batch_first=True, enforce_sorted=False)
        enc, h = self.enc(packed)
        enc, _ = pad_packed_sequence(enc, batch_first=True, total_length=src.size(1))
        h = torch.tanh(self.bridge(torch.cat([h[-2], h[-1]], dim=1))).unsqueeze(0)
        dec, _ = self.dec(self.emb(tgt), h)
        score = torch.bmm(self.wa(dec), enc.transpose(1, 2))
        score = score.masked_fill(~src_mask.unsqueeze(1), -1e4)
        ctx = torch.bmm(torch.softmax(score, dim=-1), enc)
        logits = self.out(torch.cat([dec, ctx], dim=-1))
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1), ignore_index=0)
        return logits, loss


class Chomp1d(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, : -self.size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_in, n_out, k, dilation):
        super().__init__()
        pad = (k - 1) * dilation
        self.net = nn.Sequential(
            nn.Conv1d(n_in, n_out, k, padding=pad, dilation=dilation),
            Chomp1d(pad),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv1d(n_out, n_out, k, padding=pad, dilation=dilation),
            Chomp1d(pad),
            nn.ReLU(),
            nn.Dropout(0.1),
        )
        self.down = nn.Conv1d(n_in, n_out, 1) if n_in != n_out else None

    def forward(self, x):
        res = x if self.down is None else self.down(x)
        return F.relu(self.net(x) + res)


class TCN(nn.Module):
    def __init__(self, features=5, channels=(8, 8, 12), k=3, classes=4):
        super().__init__()
        sizes = [features, *channels]
        self.tcn = nn.Sequential(*[TemporalBlock(sizes[i], sizes[i + 1], k, 2**i) for i in range(len(channels))])
        self.head = nn.Linear(channels[-1], classes)

    def forward(self, x):
        y = self.tcn(x.transpose(1, 2))
        return self.head(y[:, :, -1])


class WaveNet(nn.Module):
    def __init__(self, classes=16, res=8, skip=12, dilations=(1, 2, 4), k=2):
        super().__init__()
        self.classes, self.dilations, self.k = classes, dilations, k
        self.start = nn.Conv1d(classes, res, 1)
        self.filters = nn.ModuleList([nn.Conv1d(res, res, k, dilation=d) for d in dilations])
        self.gates = nn.ModuleList([nn.Conv1d(res, res, k, dilation=d) for d in dilations])
        self.res = nn.ModuleList([nn.Conv1d(res, res, 1) for _ in dilations])
        self.skips = nn.ModuleList([nn.Conv1d(res, skip, 1) for _ in dilations])
        self.end1 = nn.Conv1d(skip, skip, 1)
        self.end2 = nn.Conv1d(skip, classes, 1)

    def forward(self, wave):
        x = F.one_hot(wave, self.classes).float().permute(0, 2, 1)
        x = self.start(x)
        skip = 0
        for f, g, r, s in zip(self.filters, self.gates, self.res, self.skips, strict=True):
            h = torch.tanh(f(x)) * torch.sigmoid(g(x))
            sk = s(h)
            if torch.is_tensor(skip):
                skip = skip[:, :, -sk.size(2) :]
            skip = skip + sk
            x = r(h) + x[:, :, -h.size(2) :]
        return self.end2(F.relu(self.end1(F.relu(skip))))


class SELayer(nn.Module):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(channel, channel // reduction),
            nn.ReLU(inplace=True),
            nn.Linear(channel // reduction, channel),
            nn.Sigmoid(),
        )

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.avg_pool(x).view(b, c)
        y = self.fc(y).view(b, c, 1, 1)
        return x * y.expand_as(x)


class SEBasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.se = SELayer(planes)
        self.shortcut = (
            nn.Sequential()
            if stride == 1 and inplanes == planes
            else nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.se(self.bn2(self.conv2(out)))
        out += self.shortcut(x)
        return F.relu_(out)


class SEResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.layers = nn.Sequential(SEBasicBlock(16, 16), SEBasicBlock(16, 32, 2), SEBasicBlock(32, 32))
        self.linear = nn.Linear(32, classes)

    def forward(self, x):
        out = self.layers(self.stem(x))
        out = F.avg_pool2d(out, 4)
        out = torch.flatten(out, 1)
        return self.linear(out)


def nt_xent(z_i, z_j, temperature=0.5):
    N = 2 * z_i.size(0)
    z = torch.cat((z_i, z_j), dim=0)
    sim = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=2) / temperature
    sim_i_j = torch.diag(sim, z_i.size(0))
    sim_j_i = torch.diag(sim, -z_i.size(0))
    positives = torch.cat((sim_i_j, sim_j_i), dim=0).reshape(N, 1)
    mask = ~torch.eye(N, dtype=torch.bool)
    negatives = sim[mask].view(N, -1)
    logits = torch.cat((positives, negatives), dim=1)
    labels = torch.zeros(N, dtype=torch.long)
    return F.cross_entropy(logits, labels, reduction="sum") / N


class CachedAttention(nn.Module):
    def __init__(self, dim=16, heads=4, max_len=20):
        super().__init__()
        self.heads, self.hd = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("bias", torch.tril(torch.ones(max_len, max_len)).view(1, 1, max_len, max_len))

    def _split(self, x):
        new_shape = x.size()[:-1] + (self.heads, self.hd)
        return x.view(*new_shape).permute(0, 2, 1, 3)

    def forward(self, x, past_k, past_v):
        q, k, v = self.qkv(x).split(x.size(-1), dim=2)
        q, k, v = self._split(q), self._split(k), self._split(v)
        k = torch.cat((past_k, k), dim=-2)
        v = torch.cat((past_v, v), dim=-2)
        w = torch.matmul(q, k.transpose(-1, -2)) / (float(v.size(-1)) ** 0.5)
        nd, ns = w.size(-2), w.size(-1)
        b = self.bias[:, :, ns - nd : ns, :ns]
        w = w * b - 1e4 * (1 - b)
        w = F.softmax(w, dim=-1)
        a = torch.matmul(w, v).permute(0, 2, 1, 3).contiguous()
        a = a.view(*a.size()[:-2], a.size(-2) * a.size(-1))
        return self.out(a), torch.stack((k, v))


class SelfAttention2d(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.theta, self.phi = nn.Conv2d(ch, ch // 8, 1), nn.Conv2d(ch, ch // 8, 1)
        self.g, self.o = nn.Conv2d(ch, ch // 2, 1), nn.Conv2d(ch // 2, ch, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))
        self.ch = ch

    def forward(self, x):
        theta = self.theta(x)
        phi = F.max_pool2d(self.phi(x), [2, 2])
        g = F.max_pool2d(self.g(x), [2, 2])
        theta = theta.view(-1, self.ch // 8, x.shape[2] * x.shape[3])
        phi = phi.view(-1, self.ch // 8, x.shape[2] * x.shape[3] // 4)
        g = g.view(-1, self.ch // 2, x.shape[2] * x.shape[3] // 4)
        beta = F.softmax(torch.bmm(theta.transpose(1, 2), phi), -1)
        o = self.o(torch.bmm(g, beta.transpose(1, 2)).view(-1, self.ch // 2, x.shape[2], x.shape[3]))
        return self.gamma * o + x


def box_cxcywh_to_xyxy(x):
    x_c, y_c, w, h = x.unbind(-1)
    return torch.stack([(x_c - 0.5 * w), (y_c - 0.5 * h), (x_c + 0.5 * w), (y_c + 0.5 * h)], dim=-1)


def box_iou(a, b):
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    union = area_a[:, None] + area_b - inter
    return inter / union, union


def match_cost(logits, boxes, labels, targets):
    bs, num_queries = logits.shape[:2]
    prob = logits.flatten(0, 1).softmax(-1)
    out = boxes.flatten(0, 1)
    cost_class = -prob[:, labels]
    cost_bbox = torch.cdist(out, targets, p=1)
    iou, _ = box_iou(box_cxcywh_to_xyxy(out), box_cxcywh_to_xyxy(targets))
    C = cost_bbox + 2 * cost_class - iou
    return C.view(bs, num_queries, -1)


def rel_shift(x):
    b, h, i, j = x.shape
    zero_pad = torch.zeros((b, h, i, 1), device=x.device, dtype=x.dtype)
    padded = torch.cat([zero_pad, x], dim=-1)
    padded = padded.view(b, h, j + 1, i)
    return padded[:, :, 1:].view_as(x)


class RelAttention(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.q, self.kv, self.r = (
            nn.Linear(dim, dim, bias=False),
            nn.Linear(dim, 2 * dim, bias=False),
            nn.Linear(dim, dim, bias=False),
        )
        self.u = nn.Parameter(torch.zeros(heads, self.dh))
        self.vb = nn.Parameter(torch.zeros(heads, self.dh))
        self.out = nn.Linear(dim, dim)
        inv_freq = 1 / (10000 ** (torch.arange(0.0, dim, 2.0) / dim))
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, x, mems):
        b, t, d = x.shape
        cat = torch.cat([mems, x], dim=1)
        klen = cat.size(1)
        pos = torch.arange(klen - 1, -1, -1.0)
        sin = torch.outer(pos, self.inv_freq)
        r = self.r(torch.cat([sin.sin(), sin.cos()], dim=-1)).view(klen, self.heads, self.dh)
        q = self.q(x).view(b, t, self.heads, self.dh)
        k, v = self.kv(cat).view(b, klen, 2, self.heads, self.dh).unbind(2)
        ac = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        bd = rel_shift(torch.einsum("bihd,jhd->bhij", q + self.vb, r))
        attn = (ac + bd) / self.dh**0.5
        mask = torch.ones(t, klen, dtype=torch.bool).triu(1 + klen - t)
        attn = attn.masked_fill(mask[None, None], float("-inf")).softmax(-1)
        out = torch.einsum("bhij,bjhd->bihd", attn, v).reshape(b, t, d)
        return self.out(out)
