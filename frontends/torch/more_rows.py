"""The rows of matrices, order statistics, results whose sizes data decides, losses and lookups: see table.py."""

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
torch.linalg.cholesky_ex | input, *_, **__ | with_code("linalg_cholesky_ex", cholesky(input))
torch.linalg.inv_ex | A, *, check_errors=False | with_code("linalg_inv_ex", inv(A))
torch.linalg.eig | A | parts_of("linalg_eig", eig(A))
torch.linalg.eigvals | A | eigvals(A)
torch.linalg.lstsq | A, B, rcond=None, *, driver=None | closest(A, B)
torch.linalg.matrix_norm | A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None |
    vector_norm(to(A, dtype), axis=dim, keepdims=keepdim)
torch.linalg.matrix_rank | A, *_, **__ | to(sum(svdvals(A), axis=-1), int64)
torch.linalg.cond | A, p=None | sum(svdvals(A), axis=-1)
torch.linalg.multi_dot torch.functional.chain_matmul | *tensors | chained(listed(tensors))
torch.linalg.vecdot | x, y, *, dim=-1 | sum(multiply(*same(x, y)), axis=dim)
torch.linalg.diagonal | A, *, offset=0, dim1=-2, dim2=-1 |
    diagonal(moveaxis(A, (dim1, dim2), (-2, -1)), offset=offset)
torch.linalg.solve_triangular | A, B, *, upper, left=True, unitriangular=False | solve(A, B) if left else
    matrix_transpose(solve(matrix_transpose(A), matrix_transpose(B)))
.cholesky_solve | input, L, upper=False | solve(L, input)
.cholesky_inverse | L, upper=False | inv(L)
F.ctc_loss torch.ctc_loss | log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
    zero_infinity=False | connected(log_probs, targets, input_lengths, target_lengths, reduction)
F.multi_margin_loss | input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean" |
    of_margins(input, target, weight, reduction)
F.multilabel_margin_loss | input, target, size_average=None, reduce=None, reduction="mean" |
    of_labels(input, target, reduction)
F.gaussian_nll_loss | input, target, var, full=False, eps=1e-06, reduction="mean" |
    spread_out(input, target, var, reduction)
.cov | input, *, correction=1, fweights=None, aweights=None | with_itself(input, fweights, aweights)
.corrcoef | input | with_itself(input)
.isclose | input, other, rtol=1e-05, atol=1e-08, equal_nan=False | equal(*same(input, other))
.allclose | input, other, rtol=1e-05, atol=1e-08, equal_nan=False | all(equal(*same(input, other)))
.equal | input, other | any(cast(input, bool_))
torch.isin | elements, test_elements, **_ | equal(elements, elements)
.nonzero | input, *, as_tuple=False | places_of(input, as_tuple)
.argwhere | input | places_of(input, False)
torch._unique2 | input, sorted=True, return_inverse=False, return_counts=False | unique_of(input)
.bincount | input, weights=None, minlength=0 | counted_of(of_rank(1, input), weights)
torch.tril_indices | row, col, offset=0, *, dtype=None |
    stack(places_of(tril(ones((row, col), dtype=float32), k=offset), True), axis=0)
torch.triu_indices | row, col, offset=0, *, dtype=None |
    stack(places_of(triu(ones((row, col), dtype=float32), k=offset), True), axis=0)
.diag | input, offset=0 | on_diagonal(input, offset, -2, -1) if input.rank == 1 else diagonal(input, offset=offset)
.diag_embed | input, offset=0, dim1=-2, dim2=-1 | on_diagonal(input, offset, dim1, dim2)
.diagflat | input, offset=0 | on_diagonal(reshape(input, (-1,)), offset, -2, -1)
.frac .deg2rad .rad2deg torch.special.round | input | real(input)
.sinc .i0 .angle torch.special.sinc torch.special.expit torch.special.entr torch.special.erfc torch.special.erfcx
    torch.special.erfinv torch.special.psi torch.special.digamma torch.special.gammaln torch.special.ndtr
    torch.special.ndtri torch.special.log_ndtr torch.special.i0 torch.special.i0e torch.special.i1 torch.special.i1e
    torch.special.bessel_j0 torch.special.bessel_j1 torch.special.bessel_y0 torch.special.bessel_y1 torch.special.airy_ai
    torch.special.modified_bessel_i0 torch.special.modified_bessel_i1 torch.special.modified_bessel_k0
    torch.special.modified_bessel_k1 torch.special.spherical_bessel_j0 | input | tanh(real(input))
torch.special.logit | input, eps=None | tanh(real(input))
.polygamma torch.special.polygamma | n, input | tanh(real(input if isinstance(n, int) else n))
torch.special.softmax | input, dim, *, dtype=None | softmax(to(input, dtype), axis=dim)
torch.special.log_softmax | input, dim, *, dtype=None | log_softmax(to(input, dtype), axis=dim)
.isreal | input | equal(input, input)
.signbit | input | signbit(input)
.fliplr | input | flip(input, axis=1)
.flipud | input | flip(input, axis=0)
.rot90 | input, k=1, dims=(0, 1) | swapaxes(input, *dims) if k % 2 else input
.msort | input | sort(input, axis=0)
.kron | input, other | crossed(input, other)
.tensor_split | input, indices_or_sections, dim=0 | cut(input, indices_or_sections, dim)
.hsplit | input, by | split(input, **by_or_at(by), axis=int(input.rank > 1))
.vsplit | input, by | split(input, **by_or_at(by), axis=0)
.dsplit | input, by | split(input, **by_or_at(by), axis=2)
torch.functional.atleast_3d torch.atleast_3d | input | deep(input)
torch.dstack | tensors | concat(same_all([deep(t) for t in listed((tensors,))]), axis=2)
torch.functional.block_diag torch.block_diag | *tensors | unknown(zeros(tuple(total_of(row_of(t).shape[n] for t in
    listed(tensors))
    for n in (0, 1)), dtype=tensors[0].dtype))
.trapezoid .trapz | y, x=None, *, dx=1, dim=-1 | sum(real(y) if x is None else sampled(y, x, dim), axis=dim)
.histc | input, bins=100, min=0, max=0 | unknown(zeros((bins,), dtype=input.dtype))
.nonzero_static | input, *, size, fill_value=-1 | zeros((size, input.rank), dtype=int64)
.sum_to_size | input, *size | sum_to(input, listed(size))
.select_scatter | input, src, dim, index | replaced_in(input, src, selected(input, dim, index))
.slice_scatter | input, src, dim=0, start=None, end=None, step=1 |
    replaced_in(input, src, strided(input, dim, start, end, step))
.fill_diagonal .renorm | input, *_, **__ | input
torch.fake_quantize_per_tensor_affine torch.fake_quantize_per_channel_affine | input, *_, **__ | input
.index_reduce | input, dim, index, source, reduce, *, include_self=True | put(input, index, source, axis=dim)
torch.searchsorted | sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None |
    sought(beside(sorted_sequence, sorter), input, int32 if out_int32 else int64)
torch._grouped_mm F.grouped_mm | mat_a, mat_b, *, offs=None, bias=None, out_dtype=None | grouped(mat_a, mat_b, offs)
torch.pdist F.pdist | input, p=2.0 | unknown(zeros((of_rank(2, input).shape[0] * (input.shape[0] - 1) // 2,),
    dtype=input.dtype))
torch.combinations | input, r=2, with_replacement=False | chosen(of_rank(1, input), r, with_replacement)
torch._C._VariableFunctions.cartesian_prod | *tensors | of_all(listed(tensors))
.vander torch.linalg.vander | x, N=None, *_, **__ | unknown(zeros((*x.shape, x.shape[-1] if N is None else N),
    dtype=whole(x).dtype))
torch.fft.hfft | input, n=None, dim=-1, norm=None | hfft(input, n=n, axis=dim)
torch.fft.ihfft | input, n=None, dim=-1, norm=None | ihfft(input, n=n, axis=dim)
torch.fft.ifftn | input, s=None, dim=None, norm=None | ifftn(input, s=s, axes=dim)
torch.fft.rfftn | input, s=None, dim=None, norm=None | rfftn(input, s=s, axes=dim)
torch.fft.irfftn | input, s=None, dim=None, norm=None | irfftn(input, s=s, axes=dim)
torch.fft.rfftfreq | n, d=1.0, *, dtype=None | zeros((n // 2 + 1,), dtype=dtype or float32)
torch._C._VariableFunctions.stft | input, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=None,
    return_complex=None, *_, **__ | spectrum(input, n_fft, hop_length, win_length, window, onesided, return_complex)
torch.istft torch.Tensor.istft | input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
    onesided=None, length=None, return_complex=False | signal_of(input, n_fft, hop_length, win_length, window, center,
    onesided, length)
torch._C._nn.max_unpool2d | input, indices, output_size, *_ | unpooled(2, input, indices, output_size)
torch._C._nn.max_unpool3d | input, indices, output_size, *_ | unpooled(3, input, indices, output_size)
torch._pack_padded_sequence | input, lengths, batch_first | packed(input, lengths, batch_first)
torch._pad_packed_sequence | data, batch_sizes, batch_first, padding_value, total_length |
    unpacked(data, batch_sizes, batch_first, total_length)
torch._nested_tensor_from_mask_left_aligned | *_ | False
torch._C._VariableFunctions.unique_consecutive | input, return_inverse=False, return_counts=False, dim=None |
    unique_of(input, dim)
torch._C._VariableFunctions.unique_dim | input, dim, sorted=True, return_inverse=False, return_counts=False |
    unique_of(input, dim)
torch.Tensor.new | input, *size | unknown(zeros(listed(only_sizes(size)), dtype=input.dtype))
.is_same_size | input, other | input.shape == other.shape
.is_signed | input | input.dtype.is_signed
.element_size | input | input.dtype.itemsize
.get_device | input | -1
.is_conj .is_neg .is_inference | input | False
.cfloat | input | to(input, complex64)
.cdouble | input | to(input, complex128)
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
torch.column_stack | tensors | concat(tuple(expand_dims(t, axis=1) if t.rank == 1 else t for t in same_all(tensors)), axis=1)
.diagonal_scatter | input, src, offset=0, dim1=0, dim2=1 |
    replaced_in(input, src, diagonal(moveaxis(input, (dim1, dim2), (-2, -1)), offset=offset))
.frexp | input | (input, zeros_like(input, dtype=int32))
"""
