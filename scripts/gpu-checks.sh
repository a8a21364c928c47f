# What is checked of programs for an NVIDIA GPU, on an emulated one (scripts/test) or on a real one
# (scripts/test-gpu). Sourced, not run.

# gpu_checks AMOUNT [OPTION...]: prints a line "PASS: what" or "FAIL: what" a check. AMOUNT is few, usual
# or all; options are those of cuda_commands.py. TRANSFORMER_TEST_TARGET says what is compiled.
gpu_checks() {
  local amount=$1 code=0 compile=(--compile "$build/bin/transformer-compile") target
  read -ra target <<<"$TRANSFORMER_TEST_TARGET"
  shift
  check_on_gpu() { PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$root/test/$1" "${compile[@]}" "${@:2}" || code=1; }

  check_on_gpu e2e/cuda_commands.py "$@"
  if [[ $amount = few ]]; then
    check_on_gpu golden/check.py "${target[@]}" bert-model gpt2-lm t5-lm vit-model
    check_on_gpu e2e/steps.py gpt2-lm
    check_on_gpu e2e/generate.py gpt2-lm
    return $code
  fi
  check_on_gpu golden/check.py "${target[@]}"
  check_on_gpu e2e/invariance.py
  check_on_gpu golden/train.py gpt2-lm
  check_on_gpu e2e/parts.py
  check_on_gpu golden/adapters.py
  check_on_gpu e2e/generate_from_features.py whisper-lm
  if [[ $amount = usual ]]; then
    check_on_gpu e2e/accumulate.py gpt2-lm
    check_on_gpu e2e/steps.py gpt2-lm llama-lm bloom-lm t5-lm whisper-lm
    check_on_gpu e2e/generate.py gpt2-lm
    check_on_gpu e2e/generate_from_source.py bart-lm t5-lm
    check_on_gpu e2e/generate_annotated.py annotated-biased
    return $code
  fi
  check_on_gpu golden/first_step.py
  check_on_gpu golden/train.py
  check_on_gpu e2e/train_text.py
  check_on_gpu e2e/train_loop.py
  check_on_gpu e2e/accumulate.py
  check_on_gpu e2e/init.py
  check_on_gpu e2e/wide_sums.py
  check_on_gpu e2e/unusual_numbers.py
  check_on_gpu e2e/invariance.py --weights-dtype bf16
  check_on_gpu e2e/steps.py gpt2-lm llama-lm mistral-lm bloom-lm t5-lm whisper-lm bart-lm marian-lm \
    transformer-sinusoidal transformer-learned transformer-tied annotated-biased annotated-unbiased
  check_on_gpu e2e/generate.py gpt2-lm llama-lm qwen3-lm bloom-lm
  check_on_gpu e2e/generate_from_source.py bart-lm mbart-lm marian-lm pegasus-lm blenderbot-lm blenderbot-small-lm \
    t5-lm t5-gated
  check_on_gpu e2e/generate_annotated.py annotated-biased annotated-unbiased
  return $code
}
