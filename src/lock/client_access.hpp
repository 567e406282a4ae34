#pragma once

#include "lock/engine.hpp"
#include <redlock/client.hpp>

#include <memory>
#include <utility>

namespace redlock::lock {

/// Makes clients of an engine that runs on another machine than this one.
struct client_access {
    static client make(std::shared_ptr<engine> made) { return client(std::move(made)); }
};

} // namespace redlock::lock
