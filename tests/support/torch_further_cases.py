"""More calls for torch_row_cases.py: what fewer people use, packed sequences, and modules."""

from __future__ import annotations

FURTHER = {
    "further": """
torch.linalg.cholesky_ex(x) | x=float32[a, b, m]
torch.linalg.inv_ex(x) | x=float32[a, b, m]
torch.linalg.eig(x) | x=float32[a, b, m]
torch.linalg.eigvals(x) | x=float32[a, b, b]
torch.linalg.lstsq(x, y)[0] | y=float32[a, b, m]
torch.linalg.lstsq(x, y)[2] | y=float32[a, m, 2]
torch.linalg.matrix_norm(x, keepdim=True)
torch.linalg.matrix_rank(x)
torch.linalg.cond(x)
torch.linalg.multi_dot([x, y, z]) | x=float32[a, b]; y=float32[b, k]; z=float32[m, 2]
torch.linalg.vecdot(x, y) | y=float32[b, k]
torch.linalg.diagonal(x, offset=1)
torch.linalg.solve_triangular(x, y, upper=True) | x=float32[a, b, k]; y=float32[a, m, 2]
torch.linalg.solve_triangular(x, y, upper=True, left=False) | x=float32[a, k, k]; y=float32[a, 2, m]
torch.cholesky_solve(x, y) | x=float32[b, k]; y=float32[a, m]
torch.cholesky_inverse(x) | x=float32[a, b]
torch.special.erfcx(i)
torch.polygamma(1, x)
torch.special.softmax(x, 1)
torch.signbit(x)
torch.isreal(x)
x.fliplr()
x.flipud()
x.rot90({d(0, 3)}, [{d(0, 1)}, 2])
x.msort()
torch.kron(x, y) | y=float32[k, m]
x.tensor_split({d(1, 3)}, dim=1)
x.tensor_split(2) | x=float32[6, b]
x.tensor_split([1, {d(1, 4)}], dim=1)
x.hsplit(2)
x.vsplit([1, 3])
torch.dsplit(x, 2)
torch.dstack((x, y)) | x=float32[a, b]; y=float32[a, m]
torch.block_diag(x, y) | x=float32[a, b]; y=float32[k]
torch.trapezoid(x, dim=1)
torch.{c(['trapezoid', 'trapz'])}(x, n{c(['.float()', ''])}, dim={d(-3, 2)})
torch.trapezoid(x, torch.linspace(0, 1, {c(['0', '3', '4'])}), dim={d(-1, 1)})
torch.histc(x, 5)
x.sum_to_size(1, x.shape[2])
x.select_scatter(y, 1, {d(0, 2)}) | y=float32[a, k]
x.slice_scatter(y, 1, {d(0, 1)}, {d(2, 3)}) | y=float32[a, m, k]
x.fill_diagonal_(1.0) | x=float32[a, b]
x.index_reduce(0, n, y, "mean") | x=float32[3, b, k]; n=int64[m]; y=float32[m, b, k]
torch.searchsorted(x, y) | y=float32[a, b, m]
torch.searchsorted(x, y) | x=float32[a]
torch.searchsorted(x, 2.0) | x=float32[a]
torch.bucketize(x, y) | y=float32[m]
F.pdist(x) | x=float32[a, b]
torch.combinations(n)
torch.combinations(n, with_replacement=True)
torch.cartesian_prod(n, i) | i=int64[b]
torch.vander(n)
torch.linalg.vander(x, N=4)
torch.fft.hfft(x)
torch.fft.ihfft(x)
torch.fft.rfftn(x, dim=(1, 2))
torch.fft.irfftn(torch.fft.rfftn(x, dim=(0, 2)), dim=(0, 2))
torch.fft.ifftn(x)
torch.fft.rfftfreq(x.shape[0]) | x=float32[a, b]
torch.stft(x, {d(2, 4)}, hop_length={d(1, 2)}, window=y, return_complex=True) | x=float32[a, b]; y=float32[m]
torch.stft(x, 4, return_complex=False) | x=float32[a]
torch.stft(x, 4, center=False, onesided=False, return_complex=True) | x=float32[a, b]
torch.istft(torch.complex(x, x), 4) | x=float32[a, b, k]
torch.istft(torch.complex(x, x), 6, hop_length=2, length=7) | x=float32[a, 4, k]
torch.istft(torch.stft(x, 4, window=torch.ones(4), return_complex=True), 4, window=torch.ones(4), length=x.shape[1]) | \
x=float32[a, b]
F.max_unpool2d(x, i, 2) | x=float32[a, 2, b, k]; i=int64[a, 2, b, m]
F.max_unpool1d(x, i, 2) | i=int64[a, b, m]
torch.unique(n, dim=0)
torch.unique(x, dim=1, return_inverse=True)
torch.unique_consecutive(n)
torch.unique_consecutive(n, return_inverse=True, return_counts=True)
torch.unique_consecutive(x, dim=1)
x.new(x.shape[0], 3)
x.is_signed() and x * x.element_size()
x.cfloat()
x.absolute() + torch.fmax(x, y) + torch.fmin(x, y)
x.not_equal(y) & x.less_equal(y) & x.greater_equal(y)
torch.add(x, y, out=x)
torch.matmul(x, z, out=y) | y=float32[a, b, m]
torch.sum(x, 1, out=y) | y=float32[a, m]
torch.max(x, 1, out=(y, i)) | y=float32[a, k]; i=int64[a, k]
torch.nonzero_static(m_, size=5)
x.type(torch.DoubleTensor)
i.type("torch.FloatTensor")
i.to(x)
torch.tensor(x.shape[0]).item() * x
x.new_zeros(torch.tensor(x.shape[0]), 2)
torch.quantile(x, torch.tensor([0.1, 0.5]), dim=1)
""",
    "recurrent": """
torch.nn.LSTM(4, 6, proj_size=3)(x) | x=float32[a, b, 4]
torch.nn.LSTM(4, 6, 2, proj_size=3, bidirectional=True, batch_first=True)(x) | x=float32[a, b, 4]
torch.nn.LSTM(4, 6, 1, proj_size=3)(x, (y, z)) | x=float32[a, b, 4]; y=float32[1, b, m]; z=float32[1, k, 6]
torch.nn.LSTM(4, 6, 1, bias=False, proj_size=3)(x, (y, z)) | x=float32[a, b, 4]; y=float32[1, b, 3]; z=float32[1, k, 6]
torch.nn.utils.rnn.pack_padded_sequence(x, torch.ones(x.shape[1], dtype=torch.int64)).data.shape[1] * x | x=float32[b, a, k]
torch.nn.utils.rnn.pad_packed_sequence(torch.nn.LSTM(4, 3)(torch.nn.utils.rnn.pack_padded_sequence(x, \
torch.ones(x.shape[1], dtype=torch.int64)))[0], total_length=x.shape[0]) | x=float32[b, a, 4]
torch.nn.GRU(4, 3, bidirectional=True, batch_first=True)(torch.nn.utils.rnn.pack_padded_sequence(x, torch.ones(x.shape[0], \
dtype=torch.int64), batch_first=True, enforce_sorted=False))[1] | x=float32[a, b, 4]
torch.nn.GRU(4, 3)(torch.nn.utils.rnn.pack_padded_sequence(x, torch.ones(y.shape[1], dtype=torch.int64)), y)[1] | \
x=float32[b, a, 4]; y=float32[1, k, 3]
torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()(x, \
src_key_padding_mask=m_) | x=float32[a, b, 4]
""",
    "modules of all kinds": """
torch.nn.AdaptiveAvgPool3d(2)(x) | x=float32[a, 2, b, k, m]
torch.nn.AdaptiveMaxPool3d(2)(x) | x=float32[a, 2, b, k, m]
torch.nn.AvgPool3d(2)(x) | x=float32[a, 2, b, k, m]
torch.nn.BatchNorm2d(3)(x) | x=float32[a, 3, b, k]
torch.nn.CircularPad2d(1)(x) | x=float32[a, 2, b, k]
torch.nn.CosineSimilarity(dim=1)(x, y)
torch.nn.LPPool2d(2, 2)(x) | x=float32[a, 2, b, k]
torch.nn.LayerNorm((3, 4))(x) | x=float32[a, b, 3, 4]
torch.nn.MaxPool1d(2, return_indices=True)(x)
torch.nn.MaxUnpool1d(2)(x, torch.zeros_like(x, dtype=torch.int64))
torch.nn.MaxUnpool2d(2, stride=2)(x, i) | x=float32[a, 2, b, k]; i=int64[a, 2, b, m]
torch.nn.MaxUnpool3d(2)(x, i) | x=float32[a, 2, b, k, 2]; i=int64[a, 2, b, k, 2]
torch.nn.MultiLabelSoftMarginLoss()(x, y) | x=float32[a, b]; y=float32[a, b]
torch.nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, key_padding_mask=m_) | x=float32[a, b, 4]
torch.nn.MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True)(x, y, z) | x=float32[a, b, 4]; y=float32[a, k, 3]; \
z=float32[a, k, 5]
torch.nn.PoissonNLLLoss()(x, y)
torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(4, 2, 8), 1)(x, y) | x=float32[a, b, 4]; y=float32[k, b, 4]
torch.nn.TripletMarginWithDistanceLoss()(x, y, z) | x=float32[a, 4]; y=float32[a, 4]; z=float32[a, 4]
torch.nn.utils.spectral_norm(torch.nn.Linear(4, 3)).eval()(x) | x=float32[a, b, 4]
torch.nn.utils.weight_norm(torch.nn.Conv1d(4, 3, 3))(x) | x=float32[a, 4, b]
F.gumbel_softmax(x, hard=True, dim=-1)
F.gumbel_softmax(x)
F.adaptive_max_pool2d(x, (2, None)) | x=float32[a, 2, b, k]
""",
}
