"""OpenVINO, compiled for each shape; float32 throughout, or what it rounds itself where bfloat16 is asked for."""


def load(setup):
    import openvino

    from harness.export_onnx import onnx_model

    core = openvino.Core()
    config = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": setup.threads,
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[setup.dtype],
        "ENABLE_CPU_PINNING": False,  # taskset has done it
    }
    path = onnx_model(setup.checkpoint, setup.cache)

    def prepare(inputs):
        model = core.read_model(path)
        names = [port.any_name for port in model.inputs]
        model.reshape({name: inputs[name].shape for name in names})
        request = core.compile_model(model, "CPU", config).create_infer_request()
        feed = {name: inputs[name] for name in names}
        return lambda: request.infer(feed, share_inputs=True, share_outputs=True)[0]

    return prepare
