//===- PageWork.h - what the kernel does to pages, by all threads -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PAGEWORK_H
#define TRANSFORMER_RUNTIME_PAGEWORK_H

#include "runtime/abi/ModuleAbi.h"
#include "runtime/base/Memory.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <vector>

namespace transformer::runtime {

/// Kernel work on pages, done by all threads: to fill fresh memory with zeros, or to give mapped
/// pages back, takes about as long as to copy them.
class PageWork {
public:
  /// Pages of an AlignedBuffer that will be written to.
  void touch(Pages pages) { add(pages, true); }
  /// Pages of a mapped file that nobody needs any more.
  void release(Pages pages) { add(pages, false); }

  void run() {
    static constexpr tr_work done = namedWork("pages");
    tr_parallel_for(doPiece, this, static_cast<int64_t>(pieces.size()), &done, nullptr);
    pieces.clear();
  }

private:
  struct Piece {
    Pages pages;
    bool fresh;
  };

  void add(Pages pages, bool fresh) {
    for (size_t done = 0; done < pages.bytes; done += hugePage)
      pieces.push_back({{pages.begin + done, std::min(hugePage, pages.bytes - done)}, fresh});
  }

  static void doPiece(void *work, int64_t index) {
    const Piece &piece = static_cast<PageWork *>(work)->pieces[static_cast<size_t>(index)];
    if (piece.fresh)
      *static_cast<volatile char *>(piece.pages.begin) = 0;
    else
      releasePages(piece.pages);
  }

  std::vector<Piece> pieces;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PAGEWORK_H
