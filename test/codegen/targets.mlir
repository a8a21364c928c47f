// Each target's own multiply-add in the loop over k, by vectors of its width;
// never a call to a library where the target has no such instruction. Four steps
// of k, by all vectors of the register tile, of many rows and of few: they stay in registers.
// REQUIRES: transformer-compile
// DEFINE: %{arch} =
// DEFINE: %{asm} = transformer-compile %s --arch %{arch} --emit asm -o %t.s
// DEFINE: %{check} = FileCheck %s --input-file=%t.s --implicit-check-not="{{(callq?|bl) +fma}}" --check-prefix
// DEFINE: %{print-loops} = python3 %S/Inputs/k_loops.py < %t.s | FileCheck %s
// DEFINE: %{loops} = %{print-loops} --implicit-check-not="{{ [1-9][0-9]* spills}}" --check-prefix

// REDEFINE: %{arch} = x86-64
// RUN: %{asm} && %{check}=SSE && %{loops}=LOOPS-4x2
// REDEFINE: %{arch} = x86-64-v2
// RUN: %{asm} && %{check}=SSE && %{loops}=LOOPS-4x2
// REDEFINE: %{arch} = x86-64-v3
// RUN: %{asm} && %{check}=AVX2 && %{loops}=LOOPS-6x2
// REDEFINE: %{arch} = x86-64-v4
// RUN: %{asm} && %{check}=AVX512 && %{loops}=LOOPS-8x2
// REDEFINE: %{arch} = znver4
// RUN: %{asm} && %{check}=WINOGRAD && %{loops}=LOOPS-16x1
// REDEFINE: %{arch} = znver5
// RUN: %{asm} && %{check}=WIDE && %{loops}=LOOPS-WIDE
// REDEFINE: %{arch} = znver4/no-winograd
// RUN: %{asm} && %{check}=AVX512 && %{loops}=LOOPS-8x2
// REDEFINE: %{arch} = aarch64
// RUN: %{asm} && %{check}=NEON && %{loops}=LOOPS-8x2

// SSE: mulps {{.*}}%xmm
// SSE: addps {{.*}}%xmm
// AVX2: vfmadd231ps {{.*}}%ymm
// AVX512: vfmadd231ps {{.*}}%zmm
// x comes from memory, a scalar for all lanes, into additions and multiply-adds.
// WINOGRAD: vaddps {{-?[0-9]+}}({{.*}}){1to16}, %zmm
// WINOGRAD: vfmadd231ps {{-?[0-9]+}}({{.*}}){1to16}, %zmm
// WINOGRAD: vsubps {{-?[0-9]+}}({{.*}}){1to16}, %zmm
// WINOGRAD: vfnmadd{{.*}} %zmm
// In two vectors a row x comes into a register.
// WIDE-NOT: {1to16}, %zmm
// WIDE: vbroadcastss {{.*}}%zmm
// WIDE: vaddps {{.*}}%zmm
// NEON: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.s[0]
// LOOPS-4x2: forward.task{{[0-9]+}}: 32 multiply-adds, {{1[0-6]}} vector registers, 0 spills
// LOOPS-6x2: forward.task{{[0-9]+}}: 48 multiply-adds, {{1[3-6]}} vector registers, 0 spills
// LOOPS-8x2: forward.task{{[0-9]+}}: 64 multiply-adds, {{1[8-9]|2[0-9]}} vector registers, 0 spills
// LOOPS-WIDE: forward.task{{[0-9]+}}: 64 multiply-adds, {{2[0-9]|3[0-2]}} vector registers, 0 spills
// Sixteen rows, four multiply-adds a step each: a row's stand together, and none goes by the stack.
// LOOPS-16x1: forward.task{{[0-9]+}}: 64 multiply-adds, {{2[0-9]|3[0-2]}} vector registers, 0 spills

// RUN: transformer-compile %s --arch aarch64 --emit object -o %t.o
// RUN: llvm-readelf -h %t.o | FileCheck %s --check-prefix=ELF
// ELF: Machine: AArch64

// The widths of panels, and what a program asks its CPU for.
// RUN: transformer-compile %s --arch aarch64 --emit llvm -o - | sed 's/\\22/"/g' | FileCheck %s --check-prefix=JSON
// JSON: "prepared":[{{.*}}"shape":[20,1024,8]
// JSON-SAME: "target":{"arch":"aarch64","cpu":"generic","features":["neon"]}

// Matrix registers, which a system may refuse, are asked for where products use them.
// DEFINE: %{narrow} = --weights-dtype bf16 --activations-dtype bf16
// RUN: transformer-compile %s --arch sapphirerapids --weights-dtype int8 --emit llvm -o - | sed 's/\\22/"/g' | FileCheck %s --check-prefix=NO-MATRICES
// RUN: transformer-compile %s --arch sapphirerapids --emit llvm -o - | sed 's/\\22/"/g' | FileCheck %s --check-prefix=MATRICES
// RUN: transformer-compile %s --arch sapphirerapids %{narrow} --emit llvm -o - | sed 's/\\22/"/g' | FileCheck %s --check-prefix=MATRICES
// RUN: transformer-compile %s --arch sapphirerapids %{narrow} --emit asm -o - | FileCheck %s --check-prefix=AMX
// NO-MATRICES: "target":{"arch":"sapphirerapids"
// NO-MATRICES-NOT: "amx-
// NO-MATRICES-SAME: "avx512bf16"
// MATRICES: "target":{"arch":"sapphirerapids"{{.*}}"amx-bf16",{{.*}}"amx-tile"
// AMX: ldtilecfg
// AMX-DAG: tileloadd {{.*}}, %tmm6
// AMX-DAG: tdpbf16ps %tmm6, %tmm4, %tmm0
// AMX-DAG: tdpbf16ps %tmm7, %tmm5, %tmm3
// AMX-DAG: tilestored %tmm0
// AMX: tilerelease

// Tiles for this machine's caches do not change whose code it is.
// RUN: transformer-compile %s --arch x86-64-v3/native --emit llvm -o - | sed 's/\\22/"/g' | FileCheck %s --check-prefix=CACHES
// CACHES: "target":{"arch":"x86-64-v3","cpu":"x86-64-v3"

transformer.parameter @weight : tensor<160x1024xf32>
transformer.parameter @gamma : tensor<1024xf32>
transformer.parameter @words : tensor<10x1024xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 10>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask"})
    -> (tensor<?x?x160xf32> {transformer.name = "logits"}) attributes {transformer.entry} {
  %packed, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<10x1024xf32>
  %gamma = transformer.get_parameter @gamma : tensor<1024xf32>
  %weight = transformer.get_parameter @weight : tensor<160x1024xf32>
  %x = transformer.embedding %packed, %words : tensor<?xi64>, tensor<10x1024xf32> -> tensor<?x1024xf32>
  %n = transformer.layer_norm %x, %gamma, %gamma norm<eps = 1.0e-5> : tensor<?x1024xf32>, tensor<1024xf32>, tensor<1024xf32> -> tensor<?x1024xf32>
  %y = transformer.linear %n, %weight out_in : tensor<?x1024xf32>, tensor<160x1024xf32> -> tensor<?x160xf32>
  %logits = transformer.unpack_tokens %y, %seq : tensor<?x160xf32> -> tensor<?x?x160xf32>
  return %logits : tensor<?x?x160xf32>
}
