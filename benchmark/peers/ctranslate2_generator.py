"""CTranslate2's decoder, greedy; from a number of made-up tokens a number of new ones."""

from peers.ctranslate2 import converted_model


def load(setup):
    import ctranslate2
    import numpy

    threads = {"inter_threads": 1, "intra_threads": setup.threads}
    generator = ctranslate2.Generator(converted_model(setup), device="cpu", compute_type="float32", **threads)

    def prepare(inputs):
        count = int(inputs["new_tokens"])
        prompt = [f"w{7919 * i % 30000 + 3}" for i in range(int(inputs["length"]))]
        lengths = {"max_length": count, "min_length": count, "include_prompt_in_result": False}

        def run():
            (result,) = generator.generate_batch([prompt], sampling_topk=1, **lengths)
            return numpy.array(result.sequences_ids[0])

        return run

    return prepare
