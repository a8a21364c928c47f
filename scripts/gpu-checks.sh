# What is checked of programs for an NVIDIA GPU, on an emulated one (scripts/test) or on a real one
# (scripts/test-gpu). Sourced, not run.

# assemble_once: from here on ptxas is given each kernel once, whatever programs have it.
assemble_once() {
  local real
  real=$(command -v ptxas || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas") || return 0
  export REAL_PTXAS=$real PATH=$root/test/emulator/assembler:$PATH
}

# gpu_checks HOW AMOUNT [OPTION...]: prints a line "PASS: what" or "FAIL: what" a check. HOW is together, or
# what else is to be done with lines of shell, those that take longest first; AMOUNT few, usual or all; options
# are those of cuda_commands.py. TRANSFORMER_TEST_TARGET says what is compiled.
gpu_checks() {
  local how=$1 amount=$2 commands=() target
  read -ra target <<<"$TRANSFORMER_TEST_TARGET"
  shift 2
  check_on_gpu() {
    local script=$root/test/$1
    shift
    commands+=("$(printf '%q ' env PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$script" --compile "$build/bin/transformer-compile" "$@")")
  }

  check_on_gpu e2e/cuda_commands.py "$@"
  if [[ $amount = few ]]; then
    check_on_gpu golden/check.py "${target[@]}" bert-model gpt2-lm t5-lm vit-model
    check_on_gpu golden/first_step.py gpt2-lm
    check_on_gpu e2e/steps.py gpt2-lm
    check_on_gpu e2e/generate.py gpt2-lm
    "$how" "${commands[@]}"
    return
  fi
  if [[ $amount = usual ]]; then check_on_gpu golden/train.py --bits 10 gpt2-lm; else check_on_gpu golden/train.py; fi
  check_on_gpu golden/check.py "${target[@]}"
  check_on_gpu e2e/gpu_products.py
  check_on_gpu e2e/gpu_attention.py
  check_on_gpu e2e/gpu_paged_attention.py
  check_on_gpu e2e/invariance.py
  check_on_gpu e2e/parts.py
  check_on_gpu golden/adapters.py
  check_on_gpu e2e/generate_from_features.py whisper-lm
  if [[ $amount = usual ]]; then
    check_on_gpu golden/train.py --steps 4 bart-lm mistral-lm t5-lm bert-question-answering gpt2-lm:adafactor
    check_on_gpu e2e/gpu_examples.py
    check_on_gpu e2e/accumulate.py gpt2-lm bert-question-answering
    check_on_gpu golden/first_step.py albert-pretraining bert-masked-lm deberta-conv deberta-masked-lm gpt2-lm llama-lm whisper-lm
    check_on_gpu e2e/steps.py gpt2-lm llama-lm bloom-lm t5-lm whisper-lm
    check_on_gpu e2e/steps.py --weights-dtype bf16 --activations-dtype bf16 llama-lm
    check_on_gpu e2e/steps.py --weights-dtype f16 --activations-dtype f16 llama-lm
    check_on_gpu e2e/generate.py gpt2-lm
    check_on_gpu e2e/generate_from_source.py bart-lm t5-lm
    check_on_gpu e2e/generate_annotated.py annotated-biased
    "$how" "${commands[@]}"
    return
  fi
  check_on_gpu e2e/gpu_examples.py
  check_on_gpu golden/first_step.py
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
  "$how" "${commands[@]}"
}
