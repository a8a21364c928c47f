"""ONNX Runtime on the graph that its transformers optimizer has fused (attention, GELU, norms)."""

import json


def fused_model(setup):
    from onnxruntime.transformers import optimizer

    from harness.export_onnx import onnx_model

    path = setup.cache / "onnxruntime" / "model.onnx"
    if not path.exists():
        config = json.loads((setup.checkpoint / "config.json").read_text())
        fused = optimizer.optimize_model(
            str(onnx_model(setup.checkpoint, setup.cache)),
            model_type="bert",
            num_heads=config["num_attention_heads"],
            hidden_size=config["hidden_size"],
            opt_level=1,
        )
        counts = fused.get_fused_operator_statistics()
        layers, fused_layers = config["num_hidden_layers"], counts["Attention"]
        if fused_layers != layers:
            raise RuntimeError(f"the optimizer fused the attention of {fused_layers} of {layers} layers")
        path.parent.mkdir(parents=True, exist_ok=True)
        fused.save_model_to_file(str(path))
    return path


def load(setup):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setup.threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(fused_model(setup)), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def prepare(inputs):
        feed = {name: inputs[name] for name in names}
        return lambda: session.run(None, feed)[0]

    return prepare
