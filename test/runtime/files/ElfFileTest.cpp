#include "runtime/files/ElfFile.h"
#include "test/runtime/TestSupport.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace transformer::runtime;
namespace fs = std::filesystem;

namespace {

/// A copy of this program: an ELF file with segments and sections, which the dynamic linker takes.
class ElfFile : public testing::Test {
protected:
  ElfFile() { fs::copy_file("/proc/self/exe", path); }

  std::string problem() const {
    return errorOf([&] { checkElfFile(path); });
  }

  template <typename T> void put(size_t offset, T value) const {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char *>(&value), sizeof(value));
  }

  TemporaryFolder folder;
  std::string path = folder.path("module.so");
};

TEST_F(ElfFile, WholeIsFine) { checkElfFile(path); }

TEST_F(ElfFile, EveryTruncation) {
  uint64_t size = fs::file_size(path);
  std::vector<uint64_t> sizes{size - 1, size - 64, 4096, 1000, 63, 10, 3, 0};
  for (uint64_t part = 15; part > 0; --part)
    sizes.push_back(size * part / 16);
  std::sort(sizes.rbegin(), sizes.rend());
  for (uint64_t shorter : sizes) {
    fs::resize_file(path, shorter);
    expectContains(problem(),
                   {path, shorter < sizeof(Elf64_Ehdr) ? "expected an ELF" : "truncated"});
  }
}

TEST_F(ElfFile, ExtentsThatAreNot) {
  for (size_t field : {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff)})
    for (uint64_t value : {uint64_t(1) << 40, ~uint64_t(0), ~uint64_t(0) - 63}) {
      fs::copy_file("/proc/self/exe", path, fs::copy_options::overwrite_existing);
      put(field, value);
      expectContains(problem(), {path, "truncated: the table of se"});
    }
  fs::copy_file("/proc/self/exe", path, fs::copy_options::overwrite_existing);
  put(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), ~uint64_t(0));
  expectContains(problem(), {path, "truncated: a segment takes 18446744073709551615 bytes"});
}

TEST_F(ElfFile, OtherFiles) {
  folder.write("module.so", std::string(100, '\0'));
  expectContains(problem(), {path, "expected an ELF file"});
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expectContains(problem(), {path, "not a regular file"});
}

void call(const void *const *, const tr_tensor *, void *) {}
int64_t arenaBytes(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {{call, arenaBytes}, {call, arenaBytes}};
const char text[] = "{}";
constexpr tr_module good = {.magic = TR_MODULE_MAGIC,
                            .abi_version = TR_ABI_VERSION,
                            .description = text,
                            .description_size = 2,
                            .tokenizer_size = 1,
                            .description_hash = 0,
                            .functions = functions,
                            .num_functions = 2};
tr_module module = good;

/// What is wrong with the module of this program, after a change.
template <typename Change> std::string problemWith(Change change) {
  module = good;
  change();
  return errorOf([] { checkInsideImage(module, "m.so"); });
}

TEST(ModuleImage, PointersLieInside) {
  module = good;
  checkInsideImage(module, "m.so");
  const std::string description = "m.so: damaged: its description",
                    table = "its table of functions";
  const std::string heap(100, ' ');
  expectContains(problemWith([] { module.description = nullptr; }), {description, "outside"});
  expectContains(problemWith([&] { module.description = heap.data(); }), {description, "outside"});
  expectContains(problemWith([] { module.description_size = uint64_t(1) << 40; }), {description});
  expectContains(problemWith([] { module.tokenizer_size = uint64_t(1) << 40; }), {description});
  expectContains(problemWith([] { module.tokenizer_size = ~uint64_t(1); }), {"too large"});
  expectContains(problemWith([] { module.num_functions = uint64_t(1) << 40; }), {table});
  expectContains(problemWith([] { module.num_functions = uint64_t(1) << 61; }), {"too large"});
  expectContains(problemWith([] { module.functions = nullptr; }), {table, "outside"});
  static tr_function data[] = {{call, reinterpret_cast<tr_arena_fn>(&module)}};
  expectContains(problemWith([] { module.functions = data, module.num_functions = 1; }),
                 {"damaged: a function", "outside"});
}

} // namespace
