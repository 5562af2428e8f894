"""ONNX models into Rx programs."""
