"""The rows of matrices, order statistics, what data counts, losses and lookups: see table.py."""

from __future__ import annotations

MORE_ROWS = """
.median | input, dim=None, keepdim=False | middle("median", input, dim, keepdim)
.nanmedian | input, dim=None, keepdim=False | middle("nanmedian", input, dim, keepdim)
.mode | input, dim=-1, keepdim=False | middle("mode", input, dim, keepdim)
.kthvalue | input, k, dim=-1, keepdim=False | middle("kthvalue", input, dim, keepdim, k)
.aminmax | input, *, dim=None, keepdim=False | ends_of(input, dim, keepdim)
.quantile .nanquantile | input, q, dim=None, keepdim=False, *, interpolation="linear" | quantile_of(input, q, dim, keepdim)
torch.linalg.svd | A, full_matrices=True, *, driver=None | parts_of("linalg_svd", svd(A, full_matrices=full_matrices))
.svd | input, some=True, compute_uv=True | svd_of(input, some)
torch.linalg.svdvals | A, *, driver=None | svdvals(A)
torch.linalg.qr | A, mode="reduced" | qr_of("linalg_qr", A, mode)
.qr | input, some=True | qr_of("qr", input, "reduced" if some else "complete")
torch.linalg.eigh | A, UPLO="L" | parts_of("linalg_eigh", eigh(A))
torch.linalg.eigvalsh | A, UPLO="L" | eigvalsh(A)
.pinverse torch.linalg.pinv | input, *_, **__ | pinv(input)
.slogdet | input | parts_of("slogdet", slogdet(input))
torch.linalg.slogdet | A | parts_of("linalg_slogdet", slogdet(A))
.logdet | input | det(input)
.matrix_power torch.linalg.matrix_power | input, n | matrix_power(input, n)
.matrix_exp torch.linalg.matrix_exp | input | matrix_power(input, 1)
torch.linalg.cholesky_ex | input, *_, **__ | cholesky(input)
F.ctc_loss torch.ctc_loss | log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
    zero_infinity=False | connected(log_probs, targets, input_lengths, target_lengths, reduction)
F.multi_margin_loss | input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean" |
    of_margins(input, target, weight, reduction)
F.multilabel_margin_loss | input, target, size_average=None, reduce=None, reduction="mean" |
    of_labels(input, target, reduction)
F.gaussian_nll_loss | input, target, var, full=False, eps=1e-06, reduction="mean" |
    spread_out(input, target, var, reduction)
.cov | input, *, correction=1, fweights=None, aweights=None | with_itself(input)
.corrcoef | input | with_itself(input)
.isclose | input, other, rtol=1e-05, atol=1e-08, equal_nan=False | equal(*same(input, other))
.allclose | input, other, rtol=1e-05, atol=1e-08, equal_nan=False | all(equal(*same(input, other)))
.equal | input, other | any(cast(input, bool_))
torch.isin | elements, test_elements, **_ | equal(elements, elements)
.nonzero | input, *, as_tuple=False | places_of(input, as_tuple)
.argwhere | input | places_of(input, False)
torch._unique2 | input, sorted=True, return_inverse=False, return_counts=False | unique_of(input)
.bincount | input, weights=None, minlength=0 | counted_of(of_rank(1, input))
torch.tril_indices | row, col, offset=0, *, dtype=None |
    stack(places_of(tril(ones((row, col), dtype=float32), k=offset), True), axis=0)
torch.triu_indices | row, col, offset=0, *, dtype=None |
    stack(places_of(triu(ones((row, col), dtype=float32), k=offset), True), axis=0)
.diag | input, diagonal=0 | diagonal_of(input, diagonal)
.diag_embed | input, offset=0, dim1=-2, dim2=-1 | on_diagonal(input, offset, dim1, dim2)
.diagflat | input, offset=0 | on_diagonal(reshape(input, (-1,)), offset, -2, -1)
.frac .deg2rad .rad2deg | input | real(input)
.sinc torch.special.expit torch.special.entr | input | tanh(real(input))
torch.special.xlog1py torch.special.xlogy .ldexp | input, other | multiply(*reals(input, other))
.float_power | input, exponent | to(multiply(*same(input, exponent)), float64)
.nextafter .heaviside | input, other | add(*same(input, other))
.gcd .lcm | input, other | add(*same(input, other))
.dist | input, other, p=2 | vector_norm(subtract(*same(input, other)))
.addbmm | input, batch1, batch2, *, beta=1, alpha=1 |
    plus_onto(input, sum(matmul(of_rank(3, batch1), matched(of_rank(3, batch2), 0, batch1)), axis=0))
.addr | input, vec1, vec2, *, beta=1, alpha=1 | plus_onto(input, outer(*same(of_rank(1, vec1), of_rank(1, vec2))))
torch.logspace | start, end, steps, base=10.0, *, dtype=None | unknown(zeros((steps,), dtype=dtype or float32))
torch.hann_window torch.hamming_window torch.blackman_window torch.bartlett_window | window_length, *_, dtype=None, **__ |
    unknown(zeros((window_length,), dtype=dtype or float32))
torch.fft.fftfreq | n, d=1.0, *, dtype=None | zeros((n,), dtype=dtype or float32)
.poisson | input | input
F.affine_grid | theta, size, align_corners=None | gridded(theta, size)
.channel_shuffle F.channel_shuffle | input, groups | shuffled(input, groups)
F.embedding_bag | input, weight, offsets=None, *_, mode="mean", **__ | bagged(input, weight, offsets, mode)
.index_put | input, indices, values, accumulate=False | setitem(input, indices, values)
.masked_scatter | input, mask, source | where(mask, input, input)
.take | input, index | take(reshape(input, (-1,)), index)
.numel | input | sizes_of(input)
torch._C._nn.pad_sequence | sequences, batch_first=False, padding_value=0.0, padding_side="right" |
    padded(sequences, batch_first)
torch.functional.atleast_1d torch.atleast_1d | input | input if input.rank else expand_dims(input, axis=0)
torch.functional.atleast_2d torch.atleast_2d | input | row_of(input)
torch.column_stack | tensors | concat(same_all(columns(tensors)), axis=1)
"""
