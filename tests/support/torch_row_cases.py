"""Calls of torch functions with arguments to draw (`d(0, 3)` a number, `c([...])` a choice), and inputs other than INPUTS."""

from __future__ import annotations

import importlib.metadata
import importlib.util

from support.torch_further_cases import FURTHER

INPUTS = {
    "x": "float32[a, b, k]",
    "y": "float32[a, b, k]",
    "z": "float32[k, m]",
    "i": "int64[a, b]",
    "n": "int64[a]",
    "m_": "bool[a, b]",
}

CASES = {
    "elements": """
x + y | y=float32[b, k]
x - 2
x * True
1.5 / x
i / 2
i // 2
i % 3
i + 1.5
m_ + m_
m_ * m_
m_ * i
x ** 2
2 ** i
i == 1
x < y
m_ & m_
m_ | (i > 0)
~m_
torch.logical_not(x)
torch.atan2(x, i) | i=int64[b, k]
torch.clamp(x, min={d(0, 2)})
torch.clamp(i, 0.5, 2.5)
x {c(['+', '*', '>', '==', '/'])} 1e9 | x=float16[a, b]
torch.where(x > 0, x, 70000.0) | x=float16[a]
torch.where(x == 300, x, x) | x=uint8[a]
x.clamp({c(['0', '-1e6, 2', 'max=1e9'])}) | x=float16[a, b]
x.masked_fill(x > 0, {c(['-1e9', '-6e4', 'torch.finfo(torch.float32).min'])}) | x=float16[a, b]
F.pad(x, (2, 2), value={c(['1e9', '-7.5'])}) | x=float16[a, b]
x.clamp(0, {c(['200', '300'])}) | x=uint8[a]
x.clamp_min(0)
torch.lerp(x, y, 0.3)
torch.addcmul(x, y, y, value=2)
torch.sqrt(i)
i.exp()
x.abs().neg().sign().square().floor()
torch.round(i)
x.reciprocal()
torch.where(m_, i, 1.5)
torch.where(m_, 1.0, 0.0)
x.where(x > {d(0, 2)}, {c(['0.0', 'y[:1]', 'other=i[..., None]'])})
x.masked_fill(m_, 0) | m_=bool[b, k]
torch.erf(x).expm1().log1p()
F.elu(x)
F.leaky_relu(x)
F.glu(x, dim={d(-3, 2)})
F.glu(x) | x=float32[a, 4]
F.prelu(x, y) | x=float32[a, b]; y=float32[1]
F.softplus(x) + F.mish(x) + F.relu6(x) + F.hardtanh(x) + F.logsigmoid(x)
F.softmax(x, dim={d(-3, 2)})
F.log_softmax(x, dim=-1)
F.{c(['dropout', 'dropout2d', 'alpha_dropout', 'feature_alpha_dropout'])}(x, {c(['0.5', '1', '1.5', '-0.1', 'p=2.0'])})
{c(['1 - m_', 'm_ - 1', '1.0 - m_', 'm_ - m_', 'm_ - i', 'i - m_', 'i - True', 'True - i', 'torch.sub(m_, 1)', 'i - 1.5'])}
{c(['-m_', '+m_', '-i', '+i', 'torch.neg(m_)', '~m_'])}
{c(['i', 'm_'])}.clone().{c(['add_', '__isub__', 'mul_', 'div_'])}({c(['0.5', '1', 'True', 'i', 'm_'])})
{c(['i', 'm_'])}.clone().{c(['exp_()', 'sigmoid_()', 'clamp_(0.5)', 'fill_(0.5)', 'copy_(i * 0.5)', 'random_()', 'eq_(0.5)'])}
z.clone().{c(['add_(1)', 'copy_(z.half())', 'eq_(1)', 'mul_(z > 0)', 'exp_()'])}
x[:, None].expand(-1, {c(['1', '3', 'z.shape[1]'])}, -1, -1).{c(['add_(1)', 'relu_()', 'fill_(1)', 'zero_()'])}
z.new_zeros(1).expand_as(z).{c(['mul_(z)', 'copy_(z)', '__iadd__(z)', 'zero_()', 'clamp_(0)'])}
F.{c(['relu', 'silu', 'elu', 'hardtanh'])}(x.new_zeros(1, 1).expand(3, n.shape[0]), inplace=True)
x.float().long().bool()
x.to(torch.float64) + x
torch.maximum(x, y) | y=float32[k]
x.isnan()
x.copysign(y)
""",
    "reductions": """
x.sum()
x.sum(dim={d(-3, 2)}, keepdim={c([True, False])})
x.sum((0, {d(1, 2)}))
m_.sum(1)
x.mean(dim={d(-3, 2)})
x.mean()
x.prod(1)
x.max()
x.max(dim={d(-3, 2)}, keepdim={c([True, False])})
x.min(1)
x.max(y) | y=float32[b, k]
x.amax(dim=(0, 1))
x.amin({d(0, 2)}, keepdim=True)
x.argmax({d(0, 2)})
x.argmax()
x.argmin(1, keepdim=True)
x.any(1)
x.all()
x.std(1)
x.var((0, 1), keepdim=True)
x.std()
torch.var_mean(x, dim=1, keepdim=True)
x.logsumexp({d(0, 2)})
x.norm(dim=-1, keepdim=True)
torch.linalg.vector_norm(x, dim=1)
x.norm()
x.cumsum({d(-3, 2)})
i.cumsum(0)
m_.cumsum(0)
x.cumprod(1)
x.cummax(1)
x.sort(dim={d(0, 2)})
x.argsort(-1, descending=True)
x.topk({d(0, 3)}, dim=1)
x.count_nonzero(1)
x.diff(dim=1)
""",
    "shapes": """
x.reshape(x.shape[0], -1)
x.reshape(-1, x.shape[2])
x.view(x.shape[0] * x.shape[1], {d(1, 3)})
x.reshape(6, -1)
x.flatten({d(0, 1)}, {d(1, 2)})
x.transpose({d(-3, 2)}, {d(0, 2)})
x.permute(2, 0, 1)
x.mT
z.t()
x.unsqueeze({d(-4, 3)})
x.squeeze(1)
x.squeeze()
x.expand(2, -1, -1, -1)
x.expand(x.shape[0], 3, x.shape[2])
x.expand_as(y) | x=float32[b, k]
x.repeat(2, 1, {d(0, 3)})
x.repeat(2, 1, 1, 2)
x.repeat(2)
x.tile(2)
x.repeat_interleave({d(0, 3)}, dim={d(0, 2)})
x.repeat_interleave(2)
torch.cat([x, y], dim={d(-3, 2)}) | y=float32[a, m, k]
torch.cat([x, i]) | i=int64[m, b, k]
torch.stack([x, y], dim={d(-4, 3)}) | y=float32[a, b, m]
x.roll({d(-3, 3)}, {d(0, 2)})
x.roll(1)
x.flip({d(0, 2)})
x.tril({d(-2, 2)})
x.unflatten({d(0, 2)}, ({d(1, 3)}, -1))
x.unflatten(1, (2, {d(1, 2)}))
x.movedim({d(0, 2)}, {d(0, 2)})
x.narrow(1, {d(0, 2)}, {d(0, 2)})
x.select(1, {d(-2, 2)})
x.split({d(1, 3)}, dim=1) | x=float32[a, 5, k]
x.split([1, 2], dim=1)
x.chunk({d(1, 3)}, dim=1) | x=float32[a, 5, k]
x.chunk(2, dim=1)
x.chunk(1, dim=1)
x.split([3], dim=1)
x.split(5, dim=1) | x=float32[a, 5, k]
x.unbind(1) | x=float32[a, 1, k]
x.unbind(1) | x=float32[a, 3, k]
x.as_strided((x.shape[0], x.shape[1]), ({d(0, 3)}, {d(1, 3)}), {d(0, 2)})
x[1:].as_strided((x.shape[1] - 1, x.shape[2]), (x.shape[2], 1))
torch.vmap(lambda u, v: u @ v, in_dims=(1, None))(x, z)
torch.vmap(lambda u: (u.sum(), u), out_dims=(0, {c([0, 1, -1])}))(x)
torch.vmap(torch.dot, in_dims=(0, 1))(x, y) | x=float32[a, k], y=float32[b, k]
x.unfold({d(0, 2)}, {d(1, 3)}, {d(1, 2)})
x.diagonal({d(-1, 1)}, {d(0, 1)}, 2)
torch.meshgrid(x, y) | x=float32[a]; y=float32[b]
torch.broadcast_tensors(x, y) | y=float32[b, 1]
F.pad(x, ({d(0, 2)}, {d(0, 2)}))
F.pad(x, (0, 1, {d(0, 2)}, 2))
F.pad(x, pad=({d(-2, 1)}, {d(-2, 1)}, 0, {d(-1, 1)}))
F.pad(x, (0, 3 - x.shape[2]))
torch.zeros(size=(x.shape[0], 2))
x.permute(dims=(2, 0, 1))
torch.zeros(math.ceil((x.shape[0] - 2) / 2 + 1))
F.pad(x, ({d(0, 2)}, {d(0, 2)}), mode="{c(['reflect', 'replicate', 'circular'])}")
F.pad(x, ({d(2, 4)}, {d(0, 3)}), mode="circular")
F.pixel_shuffle(x, 2) | x=float32[a, 8, b, k]
F.pixel_unshuffle(x, 2) | x=float32[a, 2, b, k]
torch.zeros(x.shape[0], 3)
torch.full((x.shape[1],), 2)
torch.arange(x.shape[0])
torch.arange(x.shape[0], {d(0, 5)})
torch.arange({d(0, 3)}, x.shape[0])
torch.arange(0, x.shape[0], 2)
torch.arange(0, x.shape[0], 0.5)
torch.arange(x.shape[0], -1, -1)
torch.linspace(0, 1, x.shape[0])
torch.randint(0, 4, (x.shape[0], 2))
torch.eye(x.shape[0])
x.new_zeros(x.shape[1])
torch.ones_like(x, dtype=torch.int64)
torch.scalar_tensor(x.shape[0])
torch.full_like(i, 1.5)
""",
    "indices": """
x[[0, {d(-1, 1)}]]
x[:, [{d(-1, 1)}, 0]]
x[{d(-2, 2)}]
x[:, {d(0, 2)}:]
x[:, :-{d(1, 2)}, ::2]
x[..., {d(-1, 1)}]
x[:, None]
x[n] | n=int64[m]
x[:, i] | i=int64[m, 2]
x[0, :, n] | n=int64[m]
x[:, n, n] | n=int64[m]
x[n, :, n] | n=int64[m]
x[i, n] | n=int64[b]; i=int64[m, b]
x[i, n, None] | n=int64[b]; i=int64[m, b]
x[n, None, n] | n=int64[m]
x[:, n, n, None] | n=int64[m]
torch.where(m_)[1]
x[m_]
x[:, m_] | m_=bool[b]
x.gather(1, i) | i=int64[a, m, k]
x.gather(0, i) | i=int64[m, b, 2]
x.index_select(1, n) | n=int64[m]
x.scatter(1, i, y) | i=int64[a, m, k]
x.scatter(1, i, 1.0) | i=int64[a, m, 2]
x.scatter_add(0, i, y) | i=int64[m, b, k]; y=float32[m, b, k]
x.index_add(0, n, y) | n=int64[m]; y=float32[m, b, k]
x.index_fill(1, n, 2.0) | n=int64[m]
x.masked_select(m_) | m_=bool[a, b, k]
F.one_hot(i, 7)
F.embedding(i, z)
torch.take_along_dim(x, i, 1) | i=int64[a, m, k]
""",
    "products": """
x @ z
x.matmul(y) | y=float32[a, k, m]
x @ y | y=float32[k]
torch.bmm(x, y) | y=float32[m, k, 2]
z.mm(y) | y=float32[b, 3]
z.mv(y) | y=float32[b]
torch.dot(x, y) | x=float32[a]; y=float32[b]
torch.outer(x, y) | x=float32[a]; y=float32[b]
torch.addmm(x, z, y) | x=float32[b]; y=float32[m, a]
torch.baddbmm(x, y, z) | x=float32[1, 1, k]; y=float32[a, b, m]; z=float32[a, m, k]
torch.einsum("abk,km->abm", x, z)
torch.einsum("abk,ack->bc", x, y) | y=float32[m, b, k]
torch.cdist(x, y) | y=float32[a, m, k]
F.cosine_similarity(x, y, dim=-1) | y=float32[b, k]
torch.tensordot(x, z, dims=1)
F.linear(x, z)
F.linear(x, z, y) | y=float32[k]
F.linear(i, z)
F.scaled_dot_product_attention(x, y, y) | y=float32[a, m, k]
F.scaled_dot_product_attention(x, y, y, m_) | y=float32[a, m, k]; m_=bool[b, m]
F.scaled_dot_product_attention(x, x, y, is_causal=True)
F.normalize(x, dim=-1)
""",
    "layers": """
F.conv1d(x, y, stride={d(1, 2)}, padding={d(0, 2)}) | x=float32[a, 4, k]; y=float32[6, 4, 3]
F.conv1d(x, y, padding={d(0, 1)}, groups=2) | x=float32[a, b, k]; y=float32[6, 2, 2]
F.conv1d(x, y, dilation=2, padding="{c(['same', 'valid'])}") | x=float32[a, 4, k]; y=float32[6, 4, 2]
F.conv2d(x, y, stride={d(1, 3)}, padding={d(0, 2)}) | x=float32[a, 3, b, k]; y=float32[4, 3, 3, 2]
F.conv2d(x, y) | x=float32[3, b, k]; y=float32[4, 3, 2, 2]
F.conv2d(x, y, padding=2) | x=float32[a, 3, b, k]; y=float32[4, 3, 3, 3]
F.conv_transpose1d(x, y, stride=2, padding={d(0, 1)}, output_padding={d(0, 2)}) | x=float32[a, 4, k]; y=float32[4, 2, 3]
F.conv_transpose2d(x, y, stride={d(1, 3)}) | x=float32[a, 3, b, k]; y=float32[3, 4, 2, 2]
F.max_pool1d(x, {d(1, 3)})
F.max_pool2d(x, {d(2, 3)}, stride={d(1, 3)}, padding={d(0, 2)}, ceil_mode={c([True, False])}) | x=float32[a, 2, b, k]
F.max_pool2d(x, 2) | x=float32[2, b, k]
F.max_pool2d(x, 2, return_indices=True) | x=float32[a, 2, b, k]
F.avg_pool2d(x, {d(1, 3)}, stride={d(1, 3)}, padding={d(0, 1)}, ceil_mode={c([True, False])}) | x=float32[a, 2, b, k]
F.avg_pool1d(x, 2)
F.adaptive_avg_pool2d(x, {d(1, 3)}) | x=float32[a, 2, b, k]
F.adaptive_avg_pool2d(x, (None, 1)) | x=float32[a, m, b, k]
F.adaptive_avg_pool1d(x, 2)
F.adaptive_max_pool1d(x, 2)
F.adaptive_max_pool2d(x, 1) | x=float32[a, 2, b, k]
F.batch_norm(x, None, None, training=True)
F.batch_norm(x, y, z) | y=float32[4]; z=float32[4]
F.layer_norm(x, (4,))
F.layer_norm(x, (x.shape[1],), y) | y=float32[m]
F.rms_norm(x, (x.shape[1],), y) | y=float32[m]
F.instance_norm(x, y, z) | y=float32[m]; z=float32[m]
F.instance_norm(x, y, z, use_input_stats=False) | y=float32[b]; z=float32[b]
F.layer_norm(x, x.shape[1:])
F.group_norm(x, 2) | x=float32[a, 4, b, k]
F.group_norm(x, 4) | x=float32[a, 4, k]
F.group_norm(x, 2)
F.instance_norm(x)
F.rms_norm(x, (4,))
F.interpolate(x, scale_factor={c([2, 0.5, 1.5])}) | x=float32[a, 2, b, k]
F.interpolate(x, scale_factor=2, mode="{c(['nearest', 'bilinear', 'bicubic', 'linear', 'area'])}") | x=float32[a, 2, b, k]
F.interpolate(x, size=3, mode="{c(['nearest', 'linear', 'bilinear'])}")
F.interpolate(x, size=(x.shape[3], 2), mode="bilinear", align_corners=True) | x=float32[a, 2, b, k]
F.unfold(x, 2, padding={d(0, 1)}, stride={d(1, 2)}) | x=float32[a, 2, b, k]
F.grid_sample(x, y, align_corners=False) | x=float32[a, 2, b, k]; y=float32[m, 3, 2, 2]
""",
    "modules": """
torch.nn.LSTM(4, 3, {d(1, 2)}, bidirectional={c([True, False])})(x) | x=float32[a, b, 4]
torch.nn.LSTM(4, 3, batch_first=True)(x, (y, y)) | x=float32[a, b, 4]; y=float32[1, k, 3]
torch.nn.GRU(4, 3, 2, batch_first={c([True, False])})(x) | x=float32[a, b, k]
torch.nn.RNN(4, 3, bias=False)(x) | x=float32[a, b, 4]
torch.nn.LSTMCell(4, 3)(x) | x=float32[a, 4]
torch.nn.GRUCell(4, 3)(x, y) | x=float32[a, 4]; y=float32[b, 3]
torch.nn.MultiheadAttention(4, 2, batch_first={c([True, False])})(x, y, y) | x=float32[a, b, 4]; y=float32[a, k, 4]
torch.nn.TransformerEncoderLayer(4, 2, 8)(x) | x=float32[a, b, 4]
torch.nn.TransformerDecoderLayer(4, 2, 8)(x, y) | x=float32[a, b, 4]; y=float32[k, b, 4]
torch.nn.ConvTranspose1d(4, 2, 3, stride=2)(x) | x=float32[a, 4, k]
torch.nn.Bilinear(4, 3, 2)(x, y) | x=float32[a, 4]; y=float32[b, 3]
torch.nn.Embedding(7, 3)(i)
torch.nn.BatchNorm1d(4)(x) | x=float32[a, b]
torch.nn.Flatten()(x)
torch.nn.PixelShuffle(2)(x) | x=float32[a, b, k, m]
torch.nn.CrossEntropyLoss()(x, n) | x=float32[a, b]; n=int64[k]
""",
    "losses": """
F.mse_loss(x, y, reduction="{c(['none', 'mean', 'sum'])}") | y=float32[a, m, k]
F.l1_loss(x, y)
F.smooth_l1_loss(x, y, reduction="none") | y=float32[b, k]
F.huber_loss(x, y)
F.binary_cross_entropy(x, y) | y=float32[a, m, k]
F.binary_cross_entropy(x, y, reduction="none") | y=float32[b, k]
F.binary_cross_entropy_with_logits(x, y) | y=float32[a, m, k]
F.kl_div(x, y, reduction="{c(['none', 'batchmean', 'sum'])}") | y=float32[b, k]
F.cross_entropy(x, n) | x=float32[b, 3]
F.cross_entropy(x, i, reduction="none") | x=float32[a, 3, k]
F.cross_entropy(x, n) | x=float32[3]; n=int64[]
F.cross_entropy(x, y) | y=float32[a, m, k]
F.nll_loss(x, i) | x=float32[a, 3, k]
F.soft_margin_loss(x, y)
F.margin_ranking_loss(x, y, z) | x=float32[a]; y=float32[b]; z=float32[k]
F.triplet_margin_loss(x, y, z) | x=float32[a, 4]; y=float32[b, 4]; z=float32[k, 4]
F.cosine_embedding_loss(x, y, z) | x=float32[a, 4]; y=float32[b, 4]; z=float32[k]
""",
    "matrices": """
x.median(dim=1)
x.median(1, keepdim=True)
x.median()
i.median(1)
x.nanmedian(dim=1)
x.mode(1)
x.kthvalue(2, dim=1)
x.quantile(0.5, dim=1)
torch.quantile(x, 0.5)
torch.linalg.svd(x)
torch.linalg.svd(x, full_matrices=False)
torch.svd(x)
torch.linalg.svdvals(x)
torch.linalg.qr(x)
torch.linalg.qr(x, mode="complete")
torch.qr(x)
torch.linalg.eigh(x) | x=float32[a, b, m]
torch.linalg.pinv(x)
torch.linalg.slogdet(x) | x=float32[a, b, m]
torch.logdet(x) | x=float32[a, b, k]
torch.matrix_exp(x) | x=float32[a, b, k]
torch.linalg.matrix_power(x, 3)
F.ctc_loss(x.log_softmax(2), i, n, y) | x=float32[k, a, 5]; i=int64[a, b]; n=int64[m]; y=int64[a]
F.ctc_loss(x.log_softmax(2), i, n, y, reduction="none") | x=float32[k, a, 5]; i=int64[b]; n=int64[a]; y=int64[a]
F.multi_margin_loss(x, n) | x=float32[a, 4]; n=int64[b]
F.multi_margin_loss(x, n, reduction="none") | x=float32[a, b]
F.multilabel_margin_loss(x, i) | x=float32[a, b]; i=int64[a, k]
F.gaussian_nll_loss(x, y, z) | x=float32[a, b]; y=float32[a, b]; z=float32[a, b]
torch.cov(x) | x=float32[a, b]
torch.cov(x, fweights=n + 1) | x=float32[b, k]
torch.searchsorted(x, y, sorter=n) | x=float32[k]; y=float32[m]
torch.corrcoef(x) | x=float32[a, b]
torch.bincount(n)
torch.bincount(n, weights=x) | x=float32[k]
torch.unique(n)
torch.unique(n, return_inverse=True, return_counts=True)
torch.nonzero(m_)
m_.nonzero(as_tuple=True)[0]
x.argwhere()
torch.isin(i, n)
torch.isclose(x, y) | y=float32[b, k]
torch.atleast_2d(x) | x=float32[a]
torch.column_stack((x, y)) | x=float32[a, b]; y=float32[m, k]
torch.triu_indices(x.shape[0], x.shape[1])
torch.tril_indices(x.shape[0], x.shape[0], -1)
torch.diag(x) | x=float32[a]
torch.diag(x, 1) | x=float32[a]
torch.diag(x, -1) | x=float32[a, b]
torch.diag_embed(x)
torch.diagflat(x)
torch.logspace(0, 1, x.shape[0])
torch.frac(x)
torch.deg2rad(x)
torch.sinc(x)
torch.special.expit(i)
torch.heaviside(x, y)
torch.gcd(i, i)
torch.float_power(x, 2)
F.affine_grid(x, (2, 3, 4, 5), align_corners=False) | x=float32[a, 2, b]
F.affine_grid(x, [x.shape[0], 3, 4, 5], align_corners=False) | x=float32[a, 2, 3]
F.channel_shuffle(x, 2) | x=float32[a, k, b, b]
F.embedding_bag(i, z)
F.embedding_bag(n, z, i) | i=int64[b]
x.index_put((n,), y) | y=float32[a, b, k]
x.masked_scatter(m_, y) | m_=bool[b, k]
x.take(i)
torch.aminmax(x, dim=1)
x.aminmax()
x.diagonal_scatter(torch.ones(2, 2))
torch.frexp(x)
torch.igamma(x, y)
torch.dist(x, y) | y=float32[b, k]
torch.addbmm(z, x, y) | z=float32[b, m]; y=float32[a, k, m]
torch.addr(z, x, y) | x=float32[k]; y=float32[b]
torch.hann_window(x.shape[0])
torch.normal(0.0, 1.0, (x.shape[0], 2))
torch.normal(x, 1.0)
x.unsqueeze_(0)
x.transpose_(0, 1)
torch.numel(x) * x
torch.nn.utils.rnn.pad_sequence([x, y], batch_first=True) | x=float32[a, k]; y=float32[b, m]
""",
    "more modules": """
torch.nn.RNNCell(4, 3)(x) | x=float32[a, 4]
torch.nn.LSTM(4, 3)(x) | x=float32[b, 4]
torch.nn.GRU(4, 3)(x) | x=float32[b, 4]
torch.nn.Transformer(4, 2, 1, 1, 8)(x, y) | x=float32[a, b, 4]; y=float32[k, b, 4]
torch.nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=m_) | x=float32[a, b, 4]; m_=bool[a, k]
torch.nn.CTCLoss()(x, i, n, n) | x=float32[b, a, 5]
torch.nn.utils.rnn.pack_padded_sequence(x, n + 1).data | x=float32[b, a, 4]
torch.nn.PairwiseDistance()(x, y)
torch.nn.Fold((4, 4), 2)(x) | x=float32[a, 8, k]
torch.nn.LocalResponseNorm(2)(x)
torch.nn.CosineEmbeddingLoss()(x, y, n) | x=float32[a, 4]; y=float32[a, 4]
torch.nn.UpsamplingBilinear2d(scale_factor=2)(x) | x=float32[a, 2, b, k]
torch.nn.ZeroPad2d(1)(x)
torch.nn.ReflectionPad1d(1)(x)
torch.nn.Unflatten(1, (2, 2))(x) | x=float32[a, 4, k]
torch.nn.Softmax2d()(x)
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))(x) | x=float32[a, b, 4]
torch.nn.GroupNorm(2, 4)(x) | x=float32[a, 4, k]
torch.nn.EmbeddingBag(7, 3)(i)
torch.nn.SyncBatchNorm(4).eval()(x) | x=float32[a, 4, k]
torch.nn.Hardtanh()(torch.nn.Softshrink()(torch.nn.LogSigmoid()(x)))
x.repeat_interleave(2, dim=0).chunk(2, dim=0)[0]
""",
}
CASES |= FURTHER
if importlib.util.find_spec("einops"):
    CASES["einops"] = """
einops.rearrange(x, "a b k -> b (a k)")
einops.rearrange(x, "a (b two) k -> a b (two k)", two=2)
einops.reduce(x, "a b k -> a k", "mean")
einops.reduce(x, "a (b 2) k -> a b k", "max")
einops.repeat(x, "a b k -> a (r b) k", r=3)
einops.einsum(x, z, "a b k, k m -> a b m")
einops.pack([x, y], "a b *")[0]
einops.unpack(x, [[1], [3]], "a b *")[0] | x=float32[a, b, 4]
einops.rearrange([x, y], "n a b k -> a b k n")
einops.layers.torch.Rearrange("a b k -> a (b k)")(x)
einops.layers.torch.Reduce("a b k -> a b", "sum")(x)
einops.layers.torch.EinMix("a b k -> a b m", weight_shape="k m", k=4, m=3)(x) | x=float32[a, b, 4]
einops.parse_shape(x, "a b _")["a"] * x
"""

# Where torch and Rx differ on purpose, or torch does not say what it does: the beginning of the call, with the reason.
KNOWN = {
    "x.gather": "an empty index is taken for any sizes",
    'F.pad(x, (0, 0), mode="circular"': "torch gives a tensor of no elements back",
    "F.pixel_unshuffle": "torch gives an image of no rows back as it is",
    "F.conv_transpose": "torch takes no columns of no batch",
    "F.adaptive_avg_pool2d(x, (None": "torch takes no columns of no batch",
    "F.batch_norm(x, y": "torch gives a tensor of no elements back",
    "torch.nn.BatchNorm1d": "torch gives a tensor of no elements back",
    "torch.bincount(n, weights": "of no elements torch gives integers",
    "x.scatter": "an empty index is taken for any sizes",
    'torch.einsum("abk,ack->bc"': "an axis of size 1 is broadcast",
    "F.embedding": "a table of no columns",
    'F.ctc_loss(x.log_softmax(2), i, n, y, reduction="none")': "data says how long targets are that lie end to end",
    "F.embedding_bag": "a table of no rows",
    "x.take": "a tensor of no elements",
    "x.index_select": "an index into no rows",
    'einops.rearrange(x, "a (b two)': "einops asks for even sizes of tensors of no elements too",
    'einops.reduce(x, "a (b 2)': "einops asks for even sizes of tensors of no elements too",
    "torch.fft.": "Intel's library takes no tensor of no elements",
    "torch.take_along_dim": "torch divides by zero for an empty axis",
}
if importlib.util.find_spec("torch") and tuple(map(int, importlib.metadata.version("torch").split(".")[:2])) < (2, 5):
    KNOWN |= {
        "F.pad(x, pad=": "PyTorch 2.4 refuses what is cut to nothing",
        "torch.nn.CTCLoss()(x, i, n, n)": "PyTorch 2.4 takes no steps",
    }
