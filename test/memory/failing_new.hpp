// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

namespace redlock::test {

/// While this object lives, it counts allocations of this thread by any form of operator new, and those of Asio for its
/// handlers. From number `first` on, `count` of them fail.
class failing_new {
public:
    failing_new(std::size_t first, std::size_t count);
    failing_new(failing_new const&) = delete;
    failing_new& operator=(failing_new const&) = delete;
    ~failing_new();

    /// Has one failed by now?
    [[nodiscard]] bool has_failed() const;
    /// Have all allocations failed that shall fail?
    [[nodiscard]] bool is_over() const;
};

/// While it lives, allocations of this thread neither fail nor count.
class sparing_new {
public:
    sparing_new();
    sparing_new(sparing_new const&) = delete;
    sparing_new& operator=(sparing_new const&) = delete;
    ~sparing_new();

private:
    bool armed_before_;
};

} // namespace redlock::test
