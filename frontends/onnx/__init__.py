"""ONNX models as Rx programs, whose lines know their nodes; also the same models with the shapes written into them."""
