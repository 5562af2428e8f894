"""ONNX models to Rx programs, whose lines know the nodes that they came from, and to the same models with their shapes."""
