// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/configuration.hpp"
#include "engine/nonce_source.hpp"
#include "net/executor.hpp"
#include "net/loop.hpp"
#include "net/machine.hpp"
#include "net/process_page.hpp"
#include <redlock/observer.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace redlock::detail {

/// The common parts of one client: its settings, its loop, its randomness and its observer.
class environment {
public:
    environment(net::any_io_executor executor, client_settings settings, std::shared_ptr<net::machine> on)
        : settings_(std::move(settings)), process_(on->make_page()), loop_(std::move(executor), std::move(on))
    {}

    [[nodiscard]] client_settings const& settings() const { return settings_; }
    [[nodiscard]] net::loop& loop() { return loop_; }
    [[nodiscard]] net::loop const& loop() const { return loop_; }
    [[nodiscard]] net::process_page const& process() const { return process_; }
    /// Any thread. Is this process a copy of the one that made the client? No system call where pages are wiped on fork.
    [[nodiscard]] bool forked() const noexcept { return process_.forked(); }
    [[nodiscard]] core::instant read_clocks() const { return loop_.machine().read_clocks(); }
    /// \throws std::runtime_error no randomness
    [[nodiscard]] nonce fresh_nonce() { return nonces_.next(); }

    /// The observer. Null if there is none, and in a forked child: the observer is the parent's.
    [[nodiscard]] observer* watcher() const
    {
        observer* const told = settings_.watcher.get();
        return told && !observer_detached_.load(std::memory_order_relaxed) ? told : nullptr;
    }
    /// In a forked child. False: that has been noticed before.
    bool detach_observer() noexcept { return !observer_detached_.exchange(true, std::memory_order_acq_rel); }

private:
    client_settings const settings_;
    net::process_page process_;
    net::loop loop_;
    nonce_source nonces_{loop_.machine(), process_};
    std::atomic<bool> observer_detached_{false};
};

} // namespace redlock::detail
