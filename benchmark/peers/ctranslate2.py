"""CTranslate2's encoder, given the lengths of the rows: it drops padding, as we do."""

import os


def converted(setup, converter_of):
    """The converted model, once; `converter_of` makes the converter of a checkpoint."""
    path = setup.cache / "ctranslate2"
    if not path.exists():
        partial = str(path) + ".partial"
        converter_of(str(setup.checkpoint)).convert(partial, force=True)
        os.rename(partial, path)
    return str(path)


def converted_model(setup):
    def converter_of(checkpoint):
        import ctranslate2.converters
        import transformers

        # The converter asks for a field that transformers 5 dropped with the other kinds of it.
        if not hasattr(transformers.BertConfig(), "position_embedding_type"):
            transformers.BertConfig.position_embedding_type = "absolute"
        return ctranslate2.converters.TransformersConverter(checkpoint)

    return converted(setup, converter_of)


def load(setup):
    import ctranslate2
    import numpy

    threads = {"inter_threads": 1, "intra_threads": setup.threads}
    encoder = ctranslate2.Encoder(converted_model(setup), device="cpu", compute_type="float32", **threads)

    def prepare(inputs):
        # The views do not own the arrays.
        ids = inputs["input_ids"].astype(numpy.int32)
        lengths = inputs["attention_mask"].sum(axis=1).astype(numpy.int32)
        views = [ctranslate2.StorageView.from_array(array) for array in (ids, lengths)]

        def run(_keep=(ids, lengths)):
            return encoder.forward_batch(*views).last_hidden_state

        return run

    return prepare
