"""Write gpt.onnx: the model of model.py, exported by PyTorch (which has to be there) with a free batch and a free length."""

from pathlib import Path

import torch

from model import GPT

torch.manual_seed(0)
torch.onnx.export(
    GPT(words=31, width=8, heads=2).eval(),
    (torch.zeros(2, 5, dtype=torch.int64),),
    str(Path(__file__).with_name("gpt.onnx")),
    input_names=["ids"],
    output_names=["logits"],
    dynamic_axes={"ids": {0: "batch", 1: "time"}},
    dynamo=False,
)
