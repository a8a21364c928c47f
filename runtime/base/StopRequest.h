//===- StopRequest.h - a user who asks a long command to end ----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STOPREQUEST_H
#define TRANSFORMER_RUNTIME_STOPREQUEST_H

namespace transformer::runtime {

/// While it lives, the first SIGINT or SIGTERM is only noted, for a command that ends by itself
/// soon; the second does what it did before. A signal that is ignored stays so. One at a time.
class StopRequest {
public:
  StopRequest();
  StopRequest(const StopRequest &) = delete;
  StopRequest &operator=(const StopRequest &) = delete;
  ~StopRequest();

  /// The signal that came; 0: none.
  int signal() const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STOPREQUEST_H
