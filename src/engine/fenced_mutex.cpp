#include "core/fencing.hpp"
#include "engine/configuration.hpp"
#include "engine/lock_access.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_mutex.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace redlock {

namespace {

lock_options with_fence(lock_options options, fence_options const& fence)
{
    if (fence.fence_ttl)
        static_cast<std::optional<std::chrono::milliseconds>&>(options.fence_ttl) = fence.fence_ttl;
    return options;
}

} // namespace

fenced_mutex::fenced_mutex(client& owner, std::string name, lock_options options, fence_options fence)
    : basic_lock(detail::lock_access::make(owner, std::move(name), with_fence(options, fence), kind::fenced))
{}

lease fenced_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    if (fencing_token >> core::hand_off_bits == 0)
        detail::misconfigured("a fenced lock's lease is adopted with its fencing token, which is " +
                                  std::to_string(core::fencing_token(1)) + " or more, not " +
                                  std::to_string(fencing_token),
                              name());
    if (fencing_token >> core::hand_off_bits >= kind::fence_end)
        detail::misconfigured("a fencing token is below 2^53, not " + std::to_string(fencing_token), name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock
