//===- avx2_only.c - libraries take this machine for one without AVX-512 ---===//
// Most libraries have no switch for their instruction set, or one that only a part of them obeys.
// But all of them ask, by `xgetbv`, whether the operating system keeps the AVX-512 registers. This
// puts a trap in the place of each `xgetbv` and answers no. Loaded by the dynamic linker as an
// auditor, it sees every library before any of its code runs:
//   gcc -O2 -shared -fPIC avx2_only.c -o avx2_only.so && LD_BIND_NOW=1 LD_AUDIT=./avx2_only.so ...
// (LD_BIND_NOW: auditing would slow down calls that are bound when first made.) The dynamic linker
// and libc keep their AVX-512 code for copying memory.
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define AVX512_STATE 0xe0u // of XCR0: mask registers, upper halves of zmm0-15, zmm16-31
#define AMX_STATE 0x60000u
#define NEAR 16 // bytes before an xgetbv within which its operand, ecx = 0, is set

static const unsigned char xgetbv[3] = {0x0f, 0x01, 0xd0};
static const unsigned char trap[3] = {0xcc, 0x90, 0x90}; // int3, nop, nop

/// What xgetbv would have said, without AVX-512 and AMX.
static void answer(int signal, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"((uint32_t)registers[REG_RCX]));
  registers[REG_RAX] = low & ~(AVX512_STATE | AMX_STATE);
  registers[REG_RDX] = high;
}

/// Whether ecx is set to 0 shortly before: else these bytes are a part of something else.
static int is_instruction(const unsigned char *code) {
  static const unsigned char xor1[] = {0x31, 0xc9}, xor2[] = {0x33, 0xc9}, mov[] = {0xb9, 0, 0, 0, 0};
  for (const unsigned char *at = code - NEAR; at + 2 <= code; ++at)
    if (!memcmp(at, xor1, 2) || !memcmp(at, xor2, 2) || (at + 5 <= code && !memcmp(at, mov, 5)))
      return 1;
  return 0;
}

static void set_traps(unsigned char *begin, size_t size) {
  unsigned char *end = begin + size;
  for (unsigned char *code = begin + NEAR; code + sizeof(xgetbv) <= end; ++code)
    if (!memcmp(code, xgetbv, sizeof(xgetbv)) && is_instruction(code))
      memcpy(code, trap, sizeof(trap));
}

unsigned la_version(unsigned version) {
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGTRAP, &action, NULL);
  return version;
}

/// Called for every library once it is mapped.
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
  const ElfW(Ehdr) *header = (const void *)map->l_addr;
  if (!header || !*map->l_name || strstr(map->l_name, "/ld-linux") || strstr(map->l_name, "/libc.so"))
    return 0;
  const ElfW(Phdr) *part = (const void *)(map->l_addr + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (part[i].p_type != PT_LOAD || !(part[i].p_flags & PF_X))
      continue;
    unsigned char *begin = (unsigned char *)map->l_addr + part[i].p_vaddr;
    uintptr_t page = (uintptr_t)begin & ~(uintptr_t)4095;
    size_t bytes = (uintptr_t)begin + part[i].p_filesz - page;
    if (mprotect((void *)page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) {
      fprintf(stderr, "avx2_only: cannot write to the code of %s\n", map->l_name);
      exit(1);
    }
    set_traps(begin, part[i].p_filesz);
    mprotect((void *)page, bytes, PROT_READ | PROT_EXEC);
  }
  return 0;
}
