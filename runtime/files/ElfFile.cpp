//===- ElfFile.cpp - what a shared library is, before and once loaded -----===//
#include "runtime/files/ElfFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <vector>

namespace transformer::runtime {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half thisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half thisMachine = EM_AARCH64;
#endif

/// As --arch of transformer-compile calls it.
std::string machineName(Elf64_Half machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "aarch64";
  default:
    return formatted("ELF machine {}", machine);
  }
}

/// Addresses of a loaded file's segments.
struct Segment {
  uintptr_t begin, end;
  Elf64_Word flags;
};

/// The segments of the loaded file that `address` lies in.
std::vector<Segment> segmentsAround(const void *address) {
  struct Search {
    uintptr_t address;
    std::vector<Segment> found;
  } search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        std::vector<Segment> segments;
        bool inside = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD)
            continue;
          uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
          segments.push_back({begin, end, header.p_flags});
          inside = inside || (begin <= search.address && search.address < end);
        }
        if (inside)
          search.found = std::move(segments);
        return int(inside);
      },
      &search);
  return search.found;
}

/// The loaded file that something lies in.
class Image {
public:
  Image(const void *inside, const std::string &path)
      : segments(segmentsAround(inside)), path(path) {}

  /// Throws Error when so many bytes do not lie in one of its segments with these flags.
  void check(const char *what, const void *pointer, uint64_t bytes, Elf64_Word flags) const {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    for (const Segment &segment : segments)
      if ((segment.flags & flags) == flags && segment.begin <= address && address < segment.end &&
          bytes <= segment.end - address)
        return;
    fail("{}: damaged: {} ({} bytes) lies outside the module", path, what, bytes);
  }

private:
  std::vector<Segment> segments;
  const std::string &path;
};

} // namespace

void checkElfFile(const std::string &path) {
  MappedFile file(path);
  Elf64_Ehdr header;
  if (file.size() < sizeof(header) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    fail("{}: not a compiled module: expected an ELF file", path);
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.e_machine != thisMachine)
    fail("{}: a module for another machine: expected {}, found {}\ncompile it again with --arch {}",
         path, machineName(thisMachine), machineName(header.e_machine), machineName(thisMachine));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
    fail("{}: not a compiled module: expected an ELF file of 64 bits", path);
  auto checkExtent = [&](const char *what, uint64_t begin, uint64_t bytes) {
    if (begin > file.size() || bytes > file.size() - begin)
      fail("{}: truncated: {} takes {} bytes at {}, the file has {}", path, what, bytes, begin,
           file.size());
  };
  checkExtent("the table of segments", header.e_phoff,
              uint64_t(header.e_phnum) * sizeof(Elf64_Phdr));
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    checkExtent("a segment", segment.p_offset, segment.p_filesz);
  }
  checkExtent("the table of sections", header.e_shoff,
              uint64_t(header.e_shnum) * header.e_shentsize);
}

void checkInsideImage(const tr_module &abi, const std::string &path) {
  Image image(&abi, path);
  auto check = [&](auto... arguments) { image.check(arguments...); };
  uint64_t textBytes = 0, tableBytes = 0;
  if (__builtin_add_overflow(abi.description_size, abi.tokenizer_size, &textBytes) ||
      __builtin_mul_overflow(abi.num_functions, sizeof(tr_function), &tableBytes))
    fail("{}: damaged: its description or its functions are too large", path);
  check("its description", abi.description, textBytes, PF_R);
  check("its table of functions", abi.functions, tableBytes, PF_R);
  for (uint64_t i = 0; i < abi.num_functions; ++i) {
    check("a function", reinterpret_cast<const void *>(abi.functions[i].call), 1, PF_X);
    check("a function", reinterpret_cast<const void *>(abi.functions[i].arena_bytes), 1, PF_X);
  }
}

void checkInsideImage(const tr_device_module &abi, const std::string &path) {
  Image image(&abi, path);
  image.check("its table of kernels", &abi.device, sizeof(abi.device), PF_R);
  const tr_device_code *code = abi.device;
  image.check("its table of kernels", code, sizeof(*code), PF_R);
  if (code->ptx)
    image.check("its PTX", code->ptx, code->ptx_size, PF_R);
  if (code->ptx && (code->ptx_size == 0 || code->ptx[code->ptx_size - 1] != 0))
    fail("{}: damaged: its PTX has no end", path);
  if (code->cubin)
    image.check("its machine code", code->cubin, code->cubin_size, PF_R);
  uint64_t tableBytes = 0;
  if (__builtin_mul_overflow(code->num_kernels, sizeof(char *), &tableBytes))
    fail("{}: damaged: its table of kernels is too large", path);
  image.check("its table of kernels", code->kernels, tableBytes, PF_R);
  for (uint64_t i = 0; i < code->num_kernels; ++i)
    image.check("the name of a kernel", code->kernels[i], 1, PF_R);
}

} // namespace transformer::runtime
