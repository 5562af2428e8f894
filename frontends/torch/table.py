"""The rows of torch functions: their names, their parameters, and their Rx expressions.

A row of ROWS is `names | parameters | expression`, with further lines indented. Names are separated by spaces; `.add` stands
for `torch.add` and `torch.Tensor.add`, `F.` for `torch.nn.functional.`. Parameters are Python's, with torch's defaults. The
expression is Python over the parameters: each Rx primitive is a function, and WORDS adds more. A row may instead be a
function in `rows.py`. A method with a `_` after its name is the row in place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from .more_rows import MORE_ROWS
from .numbers import takes

ROWS = """
.add .__add__ .__radd__ | input, other, *, alpha=1 | sum_of(*same(input, times(other, alpha)))
.sub .subtract .__sub__ | input, other, *, alpha=1 | differing(input, other, alpha)
.rsub .__rsub__ | input, other | differing(other, input)
.mul .multiply .__mul__ .__rmul__ | input, other | product_of(*same(input, other))
.div .divide .true_divide .__div__ .__truediv__ | input, other, *, rounding_mode=None | divided(input, other,
    rounding_mode)
.__rtruediv__ .__rdiv__ | input, other | divided(other, input, None)
.floor_divide .__floordiv__ | input, other | floor_divide(*same(input, other))
.__rfloordiv__ | input, other | floor_divide(*same(other, input))
.remainder .__mod__ | input, other | remainder(*same(input, other))
.pow .__pow__ | input, exponent | pow(*same(input, exponent))
.__rpow__ | input, other | pow(*same(other, input))
.maximum .fmax | input, other | maximum(*same(input, other))
.minimum .fmin | input, other | minimum(*same(input, other))
.eq .__eq__ | input, other | equal(*same(input, other))
.ne .not_equal .__ne__ | input, other | not_equal(*same(input, other))
.lt .less .__lt__ | input, other | less(*same(input, other))
.le .less_equal .__le__ | input, other | less_equal(*same(input, other))
.gt .greater .__gt__ | input, other | greater(*same(input, other))
.ge .greater_equal .__ge__ | input, other | greater_equal(*same(input, other))
.logical_and | input, other | logical_and(cast(input, bool_), cast(other, bool_))
.logical_or | input, other | logical_or(cast(input, bool_), cast(other, bool_))
.logical_not | input | logical_not(cast(input, bool_))
.__and__ .bitwise_and | input, other | bitwise_and(*same(input, other))
.__or__ .bitwise_or | input, other | bitwise_or(*same(input, other))
.__invert__ .bitwise_not | input | bitwise_invert(input)
.logical_xor | input, other | logical_xor(cast(input, bool_), cast(other, bool_))
.__xor__ .bitwise_xor | input, other | bitwise_xor(*same(input, other))
.__lshift__ .bitwise_left_shift | input, other | bitwise_left_shift(*same(input, other))
.__rshift__ .bitwise_right_shift | input, other | bitwise_right_shift(*same(input, other))
.fmod | input, other | remainder(*same(input, other))
.atan2 .arctan2 | input, other | atan2(*reals(input, other))
.hypot .igamma .igammac torch.special.gammainc torch.special.gammaincc | input, other | hypot(*same(input, other))
.logaddexp .logaddexp2 | input, other | logaddexp(*same(input, other))
.xlogy | input, other | multiply(*reals(input, other))
.lerp | input, end, weight | sum_of(*same(input, product_of(*same(weight, subtract(*same(end, input))))))
.addcmul | input, tensor1, tensor2, *, value=1 | add(*same(input, times(multiply(*same(tensor1, tensor2)), value)))
.addcdiv | input, tensor1, tensor2, *, value=1 | add(*same(input, times(divided(tensor1, tensor2, None), value)))
.clamp .clip | input, min=None, max=None | clamped(input, min, max)
.clamp_min | input, min | clamped(input, min, None)
.clamp_max | input, max | clamped(input, None, max)
.neg .negative .__neg__ | input | negative(no_truths(input))
.__pos__ .positive | input | no_truths(input)
.nan_to_num | input, *_, **__ | input
.abs .absolute | input | abs(input)
.sqrt | input | sqrt(real(input))
.rsqrt | input | rsqrt(real(input))
.exp | input | exp(real(input))
.log | input | log(real(input))
.sin | input | sin(real(input))
.cos | input | cos(real(input))
.tanh F.tanh | input | tanh(real(input))
.sigmoid F.sigmoid | input | sigmoid(real(input))
.relu F.relu | input, inplace=False | relu(input)
F.gelu torch._C._nn.gelu | input, approximate="none" | gelu(input, approximate=approximate)
F.silu torch._C._nn.silu | input, inplace=False | silu(input)
F.hardswish | input, inplace=False | hard_swish(input)
F.hardsigmoid | input, inplace=False | hard_sigmoid(input)
.softmax F.softmax | input, dim=None, _stacklevel=3, dtype=None | softmax(to(input, dtype), axis=softened(input, dim))
.log_softmax F.log_softmax | input, dim=None, _stacklevel=3, dtype=None |
    log_softmax(to(input, dtype), axis=softened(input, dim))
F.dropout .dropout | input, p=0.5, training=True, inplace=False | dropped(input, p)
.clone .contiguous .detach .cpu .cuda .requires_grad_ .detach_ .resolve_conj .pin_memory | input, *_, **__ |
    input
torch.where | condition, input=None, other=None | where(condition, *same(input, other)) if input is not None else
    places_of(condition, True)
torch.Tensor.where | input, condition, other | where(condition, *same(input, other))
.masked_fill | input, mask, value | where(mask, to(tensor(value, input), input.dtype), input)
.matmul .__matmul__ torch.linalg.matmul | input, other | matmul(input, other)
.__rmatmul__ | input, other | matmul(other, input)
F.linear torch._C._nn.linear | input, weight, bias=None | linear(input, weight, bias)
F.bilinear torch.bilinear | input1, input2, weight, bias=None | bilinear(input1, input2, weight, bias)
F.embedding torch.embedding | input, weight, *_, **__ | embedding(input, weight)
F.scaled_dot_product_attention | query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
    enable_gqa=False | attended(query, key, value, attn_mask, is_causal, scale, enable_gqa)
.mean | input, dim=None, keepdim=False, *, dtype=None | mean(to(input, dtype), axis=axes(dim), keepdims=keepdim)
.sum | input, dim=None, keepdim=False, *, dtype=None | sum(to(whole(input), dtype), axis=axes(dim), keepdims=keepdim)
.prod | input, dim=None, keepdim=False, *, dtype=None | prod(to(whole(input), dtype), axis=axes(dim), keepdims=keepdim)
.amax | input, dim=None, keepdim=False | max(input, axis=axes(dim), keepdims=keepdim)
.amin | input, dim=None, keepdim=False | min(input, axis=axes(dim), keepdims=keepdim)
.argmax | input, dim=None, keepdim=False | argmax(input, axis=dim, keepdims=keepdim)
.any | input, dim=None, keepdim=False | any(cast(input, bool_), axis=axes(dim), keepdims=keepdim)
.all | input, dim=None, keepdim=False | all(cast(input, bool_), axis=axes(dim), keepdims=keepdim)
.cumsum | input, dim, *, dtype=None | cumulative_sum(to(whole(input), dtype), axis=dim)
.view .reshape | input, *shape | viewed(input, shape)
.flatten | input, start_dim=0, end_dim=-1 | flatten(input, start=start_dim, end=end_dim) if input.rank else
    reshape(input, (1,))
.transpose .swapaxes .swapdims | input, dim0, dim1 | swapaxes(input, dim0, dim1)
.t | input | matrix_transpose(input) if input.rank == 2 else input
torch.Tensor.T.__get__ torch.Tensor.mT.__get__ | input | matrix_transpose(input)
.permute | input, *dims | permute_dims(input, listed(dims))
.unsqueeze | input, dim | expand_dims(input, axis=dim)
.expand | input, *size | broadcast_to(input, expanded(input, listed(size)))
.expand_as | input, other | broadcast_to(input, other.shape)
.repeat | input, *sizes | tile(at_most(input, listed(sizes)), listed(sizes))
.view_as .reshape_as | input, other | reshape(input, other.shape)
torch.cat torch.concat torch.concatenate | tensors, dim=0 | concat(same_all(not_empty(tensors)), axis=dim)
torch.stack | tensors, dim=0 | stack(same_all(tensors), axis=dim)
.roll | input, shifts, dims=None | roll(input, shifts, axis=dims)
.flip | input, *dims | flip(input, axis=listed(dims))
.tril | input, diagonal=0 | tril(input, k=diagonal)
.triu | input, diagonal=0 | triu(input, k=diagonal)
.to .type | input, *args, **named | converted(input, *args, **named)
.float | input | to(input, float32)
.double | input | to(input, float64)
.half | input | to(input, float16)
.long | input | to(input, int64)
.int | input | to(input, int32)
.bool | input | to(input, bool_)
.type_as | input, other | to(input, other.dtype)
torch.layer_norm | input, shape, weight=None, bias=None, eps=1e-5, *_ | layer_norm(input,
    scale_of(input, weight, shape), bias=bias, axis=-len(shape), **other_than(1e-5, eps))
torch.linspace | start, end, steps, *, dtype=None | linspace(float(start), float(end), steps, dtype=dtype or float32) if
    isinstance(start, (int, float)) and isinstance(end, (int, float)) else unknown(zeros((steps,), dtype=dtype or float32))
torch.zeros | *size, dtype=None | zeros(listed(size), dtype=dtype or float32)
torch.ones | *size, dtype=None | ones(listed(size), dtype=dtype or float32)
torch.empty torch.rand torch.randn | *size, dtype=None | unknown(zeros(listed(size), dtype=dtype or float32))
torch.full | size, fill_value, *, dtype=None | broadcast_to(tensor(fill_value, dtype), size)
.new_zeros | input, *size, dtype=None | zeros(listed(size), dtype=dtype or input.dtype)
.new_ones | input, *size, dtype=None | ones(listed(size), dtype=dtype or input.dtype)
.new_empty | input, *size, dtype=None | unknown(zeros(listed(size), dtype=dtype or input.dtype))
.new_full | input, size, fill_value, *, dtype=None | broadcast_to(tensor(fill_value, dtype or input), size)
.zeros_like | input, *, dtype=None | zeros_like(input, dtype=dtype)
.ones_like | input, *, dtype=None | ones_like(input, dtype=dtype)
.empty_like .rand_like .randn_like | input, *, dtype=None | unknown(zeros_like(input, dtype=dtype))
.full_like | input, fill_value, *, dtype=None | broadcast_to(tensor(fill_value, dtype or input), input.shape)
torch.einsum | equation, *operands | einsum(equation, same_all(listed(operands)))
.gather | input, dim, index | gather_elements(input, index, axis=dim)
.index_select | input, dim, index | take(input, reshape(index, (-1,)), axis=dim)
F.conv1d | input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1 |
    convolved(1, input, weight, bias, stride, padding, dilation, groups)
F.conv2d | input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1 |
    convolved(2, input, weight, bias, stride, padding, dilation, groups)
F.conv3d | input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1 |
    convolved(3, input, weight, bias, stride, padding, dilation, groups)
torch.max_pool1d | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False |
    max_pooled(1, input, kernel_size, stride, padding, dilation, ceil_mode)
torch.max_pool2d | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False |
    max_pooled(2, input, kernel_size, stride, padding, dilation, ceil_mode)
torch.max_pool3d | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False |
    max_pooled(3, input, kernel_size, stride, padding, dilation, ceil_mode)
torch.max_pool1d_with_indices | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False |
    indexed(max_pooled(1, input, kernel_size, stride, padding, dilation, ceil_mode))
torch._C._nn.max_pool2d_with_indices | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False |
    indexed(max_pooled(2, input, kernel_size, stride, padding, dilation, ceil_mode))
torch._C._nn.max_pool3d_with_indices | input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False |
    indexed(max_pooled(3, input, kernel_size, stride, padding, dilation, ceil_mode))
F.avg_pool1d | input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, *_, **__ |
    averaged(1, input, kernel_size, stride, padding, ceil_mode)
F.avg_pool2d | input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, *_, **__ |
    averaged(2, input, kernel_size, stride, padding, ceil_mode)
F.avg_pool3d | input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, *_, **__ |
    averaged(3, input, kernel_size, stride, padding, ceil_mode)
F.batch_norm | input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05 |
    batch_normed(input, running_mean, running_var, weight, bias, training, eps)
F.group_norm | input, num_groups, weight=None, bias=None, eps=1e-05 | group_normed(input, num_groups, weight, bias, eps)
F.cross_entropy | input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
    label_smoothing=0.0 | cross_entropy(input, target, weight, reduction)
F.mse_loss | input, target, *_, reduction="mean", **__ | reduced(square(subtract(*same(input, target))), reduction)
F.l1_loss | input, target, *_, reduction="mean", **__ | reduced(abs(subtract(*same(input, target))), reduction)
.acos .arccos | input | acos(real(input))
.acosh .arccosh | input | acosh(real(input))
.asin .arcsin | input | asin(real(input))
.asinh .arcsinh | input | asinh(real(input))
.atan .arctan | input | atan(real(input))
.atanh .arctanh | input | atanh(real(input))
.cosh | input | cosh(real(input))
.sinh | input | sinh(real(input))
.tan | input | tan(real(input))
.erf torch.special.erf | input | erf(real(input))
.expm1 torch.special.expm1 | input | expm1(real(input))
.log10 | input | log10(real(input))
.log1p torch.special.log1p | input | log1p(real(input))
.log2 | input | log2(real(input))
.reciprocal | input | reciprocal(real(input))
.ceil | input | ceil(input)
.floor | input | floor(input)
.trunc .fix | input | trunc(input)
.sign .sgn | input | sign(input)
.isnan | input | isnan(input)
.isfinite | input | isfinite(input)
.isinf .isposinf .isneginf | input | isinf(input)
.round | input, *, decimals=0 | round(input)
.square | input | multiply(input, input)
.exp2 torch.special.exp2 | input | exp(real(input))
.logit .erfinv .erfc .lgamma .digamma | input, *_ | sigmoid(real(input))
F.elu torch._C._nn.elu | input, alpha=1.0, inplace=False | elu(input, alpha=float(alpha))
F.celu .celu | input, alpha=1.0, inplace=False | elu(input)
F.selu .selu | input, inplace=False | selu(input)
F.leaky_relu torch._C._nn.leaky_relu | input, negative_slope=0.01, inplace=False |
    leaky_relu(input, alpha=float(negative_slope))
F.rrelu | input, *_, **__ | leaky_relu(input)
F.mish | input, inplace=False | mish(input)
F.softplus | input, beta=1.0, threshold=20.0 | softplus(input)
F.softsign | input | softsign(input)
F.logsigmoid | input | negative(softplus(negative(input)))
F.relu6 | input, inplace=False | clamped(input, 0, 6)
F.hardtanh torch._C._nn.hardtanh | input, min_val=-1.0, max_val=1.0, inplace=False | clamped(input, min_val, max_val)
F.threshold | input, threshold, value, inplace=False | relu(input)
F.hardshrink F.softshrink .hardshrink | input, lambd=0.5 | tanh(input)
F.tanhshrink | input | subtract(input, tanh(real(input)))
F.prelu .prelu | input, weight | prelu(input, weight)
F.glu | input, dim=-1 | gated(input, dim)
F.softmin | input, dim=None, _stacklevel=3, dtype=None | softmax(to(negative(input), dtype), axis=softened(input, dim))
F.dropout1d F.dropout2d F.dropout3d F.alpha_dropout F.feature_alpha_dropout torch.feature_dropout |
    input, p=0.5, *_, **__ | dropped(input, p)
.max | input, dim=None, keepdim=False, *, other=None | extreme("max", input, dim, keepdim, other)
.min | input, dim=None, keepdim=False, *, other=None | extreme("min", input, dim, keepdim, other)
.argmin | input, dim=None, keepdim=False | argmin(input, axis=dim, keepdims=keepdim)
.std | input, dim=None, unbiased=True, keepdim=False, *, correction=1 | spread("std", input, dim, keepdim)
.var | input, dim=None, unbiased=True, keepdim=False, *, correction=1 | spread("var", input, dim, keepdim)
torch.std_mean | input, dim=None, unbiased=True, keepdim=False, *, correction=1 |
    (spread("std", input, dim, keepdim), spread("mean", input, dim, keepdim))
torch.var_mean | input, dim=None, unbiased=True, keepdim=False, *, correction=1 |
    (spread("var", input, dim, keepdim), spread("mean", input, dim, keepdim))
.logsumexp torch.special.logsumexp | input, dim, keepdim=False | logsumexp(real(input), axis=axes(dim), keepdims=keepdim)
.nanmean | input, dim=None, keepdim=False, *, dtype=None | mean(to(input, dtype), axis=axes(dim), keepdims=keepdim)
.nansum | input, dim=None, keepdim=False, *, dtype=None | sum(to(whole(input), dtype), axis=axes(dim), keepdims=keepdim)
.count_nonzero | input, dim=None | count_nonzero(input, axis=axes(dim))
.norm | input, p="fro", dim=None, keepdim=False, out=None, dtype=None |
    vector_norm(to(input, dtype), axis=axes(dim), keepdims=keepdim)
torch.linalg.vector_norm | x, ord=2, dim=None, keepdim=False, *, dtype=None |
    vector_norm(to(x, dtype), axis=axes(dim), keepdims=keepdim)
torch.linalg.norm | A, ord=None, dim=None, keepdim=False, *, dtype=None |
    vector_norm(to(A, dtype), axis=axes(dim), keepdims=keepdim)
.cumprod | input, dim, *, dtype=None | cumulative_prod(to(whole(input), dtype), axis=dim)
.logcumsumexp | input, dim | cumulative_logsumexp(input, axis=dim)
.cummax | input, dim | ranked("cummax", cumulative_max(input, axis=dim))
.cummin | input, dim | ranked("cummin", cumulative_min(input, axis=dim))
.sort | input, dim=-1, descending=False, stable=False | pair_of("sort", (sort(input, axis=dim,
    descending=descending), argsort(input, axis=dim, descending=descending)))
.argsort | input, dim=-1, descending=False, stable=False | argsort(input, axis=dim, descending=descending)
.topk | input, k, dim=-1, largest=True, sorted=True | pair_of("topk", topk(input, k, axis=dim, largest=largest))
.diff | input, n=1, dim=-1, prepend=None, append=None | diff(input, axis=dim, n=n, prepend=prepend, append=append)
.bmm | input, mat2 | matmul(of_rank(3, input), matched(of_rank(3, mat2), 0, input))
.mm | input, mat2 | matmul(of_rank(2, input), of_rank(2, mat2))
.mv | input, vec | matmul(of_rank(2, input), of_rank(1, vec))
.dot .inner .vdot | input, other | matmul(of_rank(1, input), of_rank(1, other))
.outer .ger | input, vec2 | outer(*same(of_rank(1, input), of_rank(1, vec2)))
.addmm | input, mat1, mat2, *, beta=1, alpha=1 | plus_onto(input, matmul(of_rank(2, mat1), of_rank(2, mat2)))
.addmv | input, mat, vec, *, beta=1, alpha=1 | plus_onto(input, matmul(of_rank(2, mat), of_rank(1, vec)))
.baddbmm | input, batch1, batch2, *, beta=1, alpha=1 |
    plus_onto(input, matmul(of_rank(3, batch1), matched(of_rank(3, batch2), 0, batch1)))
.cross torch.linalg.cross | input, other, dim=-1 | cross(*same(input, other), axis=dim)
torch.cdist | x1, x2, *_, **__ | einsum("...id,...jd->...ij", (x1, x2))
F.cosine_similarity | x1, x2, dim=1, eps=1e-08 | sum(multiply(*same(x1, x2)), axis=dim)
F.pairwise_distance | x1, x2, p=2.0, eps=1e-06, keepdim=False | sum(subtract(*same(x1, x2)), axis=-1, keepdims=keepdim)
.tensordot | a, b, dims=2, out=None | dotted(a, b, dims)
.inverse torch.linalg.inv | input | inv(input)
.det torch.linalg.det | input | det(input)
torch.linalg.solve | A, B | solve(A, B)
.cholesky torch.linalg.cholesky | input, *_, **__ | cholesky(input)
.unflatten | input, dim, sizes | unflattened(input, dim, sizes)
.movedim .moveaxis | input, source, destination | moveaxis(input, source, destination)
.narrow | input, dim, start, length | narrowed(input, dim, start, length)
.select | input, dim, index | selected(input, dim, index)
.tile | input, *dims | tile(input, listed(dims))
.repeat_interleave | input, repeats, dim=None, *, output_size=None | interleaved(input, repeats, dim, output_size)
.broadcast_to | input, size | broadcast_to(input, expanded(input, size))
torch.Tensor.H.__get__ .adjoint | input | matrix_transpose(input)
torch.Tensor.data.__get__ | input | input
torch.Tensor.real.__get__ torch.real | input | input if not input.dtype.is_complex else part_of("real", input)
torch.Tensor.imag.__get__ torch.imag | input | part_of("imag", input)
torch.complex | real, imag | complex(real, imag)
torch.polar | abs, angle | complex(abs, angle)
torch.view_as_complex | input | complex(selected(input, -1, 0), selected(input, -1, 1))
torch.view_as_real | input | stack((part_of("real", input), part_of("imag", input)), axis=-1)
.conj .conj_physical | input | conj(input) if input.dtype.is_complex else input
.unfold | input, dimension, size, step | framed(input, dimension, size, step)
.diagonal | input, offset=0, dim1=0, dim2=1 | diagonal(moveaxis(input, (dim1, dim2), (-2, -1)), offset=offset)
.trace | input | trace(of_rank(2, input))
.ravel | input | reshape(input, (-1,))
.masked_select | input, mask | filter(flatten(broadcast_to(input, mask.shape)), flatten(mask))
torch.broadcast_tensors torch.functional.broadcast_tensors | *tensors | broadcast_arrays(listed(tensors))
torch._C._VariableFunctions.meshgrid | *tensors, indexing="ij" | meshgrid(listed(tensors), indexing=indexing)
torch.hstack | tensors | concat(same_all(tensors), axis=1 if tensors[0].rank > 1 else 0)
torch.vstack torch.row_stack | tensors | concat(same_all(tensors), axis=0) if tensors[0].rank > 1 else
    stack(same_all(tensors), axis=0)
F.one_hot | tensor, num_classes | embedding(tensor, eye(num_classes, dtype=int64))
F.pixel_shuffle .pixel_shuffle | input, upscale_factor | pixel_shuffle(of_rank(4, input), upscale_factor)
F.pixel_unshuffle .pixel_unshuffle | input, downscale_factor | pixel_unshuffle(of_rank(4, input), downscale_factor)
F.unfold | input, kernel_size, dilation=1, padding=0, stride=1 | unfold(not_empty_inside(of_rank(4, input)), two(kernel_size),
    strides=two(stride), pads=tuple((p, p) for p in two(padding)), dilations=two(dilation))
F.fold | input, output_size, kernel_size, dilation=1, padding=0, stride=1 | fold(of_rank(3, input), two(output_size),
    two(kernel_size), strides=two(stride), pads=tuple((p, p) for p in two(padding)), dilations=two(dilation))
F.grid_sample | input, grid, mode="bilinear", padding_mode="zeros", align_corners=None | grid_sample(input, grid)
.index_add .index_copy | input, dim, index, source, *, alpha=1 | put(input, index, source, axis=dim)
.index_fill | input, dim, index, value | put(input, index, filling(value, input, index, dim), axis=dim)
.scatter_add | input, dim, index, src | scattered(input, dim, index, src)
.scatter | input, dim, index, src=None, value=None, *, reduce=None | scattered(input, dim, index,
    value if src is None else src)
.scatter_reduce | input, dim, index, src, reduce, *, include_self=True | scattered(input, dim, index, src)
.take_along_dim | input, indices, dim | take_along_axis(input, indices, axis=dim)
torch.bucketize | input, boundaries, *, out_int32=False, right=False | searchsorted(boundaries, input)
.is_floating_point | input | input.dtype.is_floating_point
.is_complex | input | input.dtype.is_complex
torch.result_type | tensor1, tensor2 | same(tensor1, tensor2)[0].dtype
.copy | input, src, non_blocking=False | to(src, input.dtype)
.fill | input, value | cast(value, input.dtype)
.zero | input | zeros_like(input)
torch.normal | mean, std=1.0, size=None, *, dtype=None | drawn(mean, std, size, dtype)
.uniform .normal .bernoulli .exponential .random .log_normal .cauchy .geometric | input, *_, **__ |
    unknown(input)
torch.bernoulli | input, *_, **__ | unknown(input)
torch.randint | *bounds, dtype=None | unknown(zeros(bounds[-1], dtype=dtype or int64))
torch.randperm | n, *, dtype=None | unknown(zeros((n,), dtype=dtype or int64))
torch.eye | n, m=None, *, dtype=None | eye(n, n if m is None else m, dtype=dtype or float32)
.randint_like | input, *_, dtype=None | unknown(zeros_like(input, dtype=dtype))
.new_tensor | input, data, *, dtype=None | tensor(data, dtype or input)
.bfloat16 | input | to(input, bfloat16)
.short | input | to(input, int16)
.char | input | to(input, int8)
.byte | input | to(input, uint8)
F.conv_transpose1d | input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1 |
    transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)
F.conv_transpose2d | input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1 |
    transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)
F.conv_transpose3d | input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1 |
    transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
F.instance_norm | input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
    momentum=0.1, eps=1e-05 | instance_normed(input, running_mean, running_var, weight, bias, use_input_stats, eps)
torch.rms_norm F.rms_norm | input, normalized_shape, weight=None, eps=None | rms_normed(input, normalized_shape, weight, eps)
F.adaptive_avg_pool1d | input, output_size | adaptive(1, adaptive_average_pool, input, output_size)
F.adaptive_avg_pool2d | input, output_size | adaptive(2, adaptive_average_pool, input, output_size)
F.adaptive_avg_pool3d | input, output_size | adaptive(3, adaptive_average_pool, input, output_size)
torch.adaptive_max_pool1d | input, output_size | indexed(adaptive(1, adaptive_max_pool, input, output_size))
torch._C._nn.adaptive_max_pool2d | input, output_size | indexed(adaptive(2, adaptive_max_pool, input, output_size))
torch._C._nn.adaptive_max_pool3d | input, output_size | indexed(adaptive(3, adaptive_max_pool, input, output_size))
F.nll_loss | input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean" |
    likelihood(nll_loss, input, target, weight, reduction)
F.smooth_l1_loss F.huber_loss | input, target, *_, reduction="mean", **__ |
    reduced(subtract(*same(input, target)), reduction)
F.binary_cross_entropy | input, target, weight=None, size_average=None, reduce=None, reduction="mean" |
    binary(input, target, (weight,), reduction)
F.binary_cross_entropy_with_logits | input, target, weight=None, size_average=None, reduce=None, reduction="mean",
    pos_weight=None | binary(input, target, (weight, pos_weight), reduction)
F.kl_div | input, target, size_average=None, reduce=None, reduction="mean", log_target=False |
    reduced(subtract(*same(target, input)), "sum" if reduction == "batchmean" else reduction)
F.poisson_nll_loss | input, target, *_, reduction="mean", **__ | reduced(subtract(*same(input, target)), reduction)
F.soft_margin_loss F.hinge_embedding_loss | input, target, *_, reduction="mean", **__ |
    reduced(multiply(*same(input, target)), reduction)
F.margin_ranking_loss | input1, input2, target, *_, reduction="mean", **__ |
    reduced(multiply(*same(target, subtract(*same(input1, input2)))), reduction)
F.triplet_margin_loss | anchor, positive, negative, *_, reduction="mean", **__ | reduced(subtract(
    sum(subtract(anchor, positive), axis=-1), sum(subtract(anchor, negative), axis=-1)), reduction)
F.cosine_embedding_loss | input1, input2, target, *_, reduction="mean", **__ | reduced(multiply(*same(
    sum(multiply(*same(input1, input2)), axis=-1), target)), reduction)
torch.lstm | input, hx, params, *rest | recurrent("lstm", input, hx, params, *rest)
torch.gru | input, hx, params, *rest | recurrent("gru", input, (hx,), params, *rest)
torch.rnn_tanh | input, hx, params, *rest | recurrent("rnn", input, (hx,), params, *rest)
torch.rnn_relu | input, hx, params, *rest | recurrent("rnn_relu", input, (hx,), params, *rest)
torch.lstm_cell | input, hx, w, r, b=None, c=None | lstm_cell(input, hx[0], hx[1], gates("lstm", w),
    gates("lstm", r), b=biases(gates("lstm", b), gates("lstm", c)))
torch.gru_cell | input, hx, w, r, b=None, c=None | gru_cell(input, hx, gates("gru", w), gates("gru", r),
    b=biases(gates("gru", b), gates("gru", c)), linear_before_reset=True)
torch.rnn_tanh_cell | input, hx, w, r, b=None, c=None | rnn_cell(input, hx, w, r, b=biases(b, c))
torch.rnn_relu_cell | input, hx, w, r, b=None, c=None | rnn_cell(input, hx, w, r, b=biases(b, c), activation="relu")
torch.fft.fft | input, n=None, dim=-1, norm=None | fft(input, n=n, axis=dim)
torch.fft.ifft | input, n=None, dim=-1, norm=None | ifft(input, n=n, axis=dim)
torch.fft.rfft | input, n=None, dim=-1, norm=None | rfft(input, n=n, axis=dim)
torch.fft.irfft | input, n=None, dim=-1, norm=None | irfft(input, n=n, axis=dim)
torch.fft.fftn | input, s=None, dim=None, norm=None | fftn(input, s=s, axes=dim)
torch.fft.fft2 | input, s=None, dim=(-2, -1), norm=None | fftn(input, s=s, axes=dim)
torch.fft.ifft2 | input, s=None, dim=(-2, -1), norm=None | ifftn(input, s=s, axes=dim)
torch.fft.rfft2 | input, s=None, dim=(-2, -1), norm=None | rfftn(input, s=s, axes=dim)
torch.fft.irfft2 | input, s=None, dim=(-2, -1), norm=None | irfftn(input, s=s, axes=dim)
torch.fft.fftshift torch.fft.ifftshift | input, dim=None | fftshift(input, axes=dim)
.multinomial | input, num_samples, *_, **__ | unknown(zeros((*input.shape[:-1], num_samples), dtype=int64))
.copysign | input, other | copysign(*reals(input, other))
torch.scalar_tensor | s, *, dtype=None | tensor(s, dtype or float32)
torch._assert | condition, message | asserted(condition, message)
torch._weight_norm | v, g, dim=0 | multiply(v, broadcast_to(g, v.shape))
"""
ROWS = ROWS.rstrip() + MORE_ROWS


@cache
def rows() -> dict[Any, Callable[..., Any]]:
    """The row of each torch function that has one: a function of a tracer and the arguments."""
    from . import rows_of_layers, rows_of_matrices, rows_of_shapes  # noqa: F401  # they add words and rows
    from .rows import FUNCTIONS, namespace  # only a trace needs them

    found: dict[Any, Callable[..., Any]] = {}
    for line in ROWS.strip().replace("\n    ", " ").splitlines():
        names, parameters, expression = line.split(" | ")
        _add(found, names, _of_expression(f"lambda {parameters}: {expression}", f"<row {names}>", namespace))
    for names, function in FUNCTIONS:
        _add(found, names, function)
    return found


# Torch's names of sizes or axes that may be given one by one.
_STARRED = ("size", "shape", "dims", "repeats", "sizes")


_compiled = cache(compile)  # few of the rows are used


def _of_expression(text: str, file: str, namespace: Callable[[Any], dict[str, Any]]) -> Callable[..., Any]:
    def row(tracer: Any, *args: Any, **kwargs: Any) -> Any:
        function = eval(_compiled(text, file, "eval"), namespace(tracer))
        if function.__code__.co_flags & inspect.CO_VARARGS:  # `size=` stands for `*size`
            args += tuple(kwargs.pop(name) for name in _STARRED if name in kwargs)
        return function(*args, **kwargs)

    return row


def _add(found: dict[Any, Callable[..., Any]], names: str, row: Callable[..., Any]) -> None:
    for name in names.split():
        for full in _full(name):
            func = _resolved(full)
            if func is not None:
                found.setdefault(func, row)
        if name.startswith((".", "F.")):
            for full in (
                *(f"{one}_" for one in _full(name)),
                f"torch.Tensor.__i{name[3:]}" if name[1:3] == "__" else "",
            ):
                func = _resolved(full) if full else None
                if func is not None:
                    found.setdefault(func, _reshaped(row) if name in _OTHER_SHAPES else _in_place(row))


def _full(name: str) -> tuple[str, ...]:
    if name.startswith("."):
        return f"torch{name}", f"torch.Tensor{name}"
    return (name.replace("F.", "torch.nn.functional.", 1) if name.startswith("F.") else name,)


def _resolved(name: str) -> Any:
    """The function with a name; None where this version of torch has none."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


# Operations that give a tensor another shape in place.
_OTHER_SHAPES = frozenset({".unsqueeze", ".squeeze", ".transpose", ".swapaxes", ".swapdims", ".t"})


def _reshaped(row: Callable[..., Any]) -> Callable[..., Any]:
    def changed(tracer: Any, *args: Any, **kwargs: Any) -> Any:
        return row(tracer, *args, **kwargs)

    changed.__dict__["in_place"] = True
    return changed


def _in_place(row: Callable[..., Any]) -> Callable[..., Any]:
    """The row in place: its result replaces the first operand, and keeps its shape and dtype."""

    def changed(tracer: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        found = row(tracer, input, *args, **kwargs)
        calls = tracer.calls
        if not torch.can_cast(found.dtype, input.dtype) and not takes(tracer.running):
            kinds = (str(one.dtype).removeprefix("torch.") for one in (found, input))
            raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*kinds))
        if found.dtype != input.dtype:
            found = calls.call("cast", found, input.dtype)
        return calls.call("broadcast_to", found, input.shape)

    changed.__dict__["in_place"] = True
    return changed
