#pragma once

#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/sightings.hpp"
#include "core/timer_wheel.hpp"
#include "engine/node_report.hpp"
#include "kind/kind.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"
#include <redlock/completion_handler.hpp>
#include <redlock/inspection.hpp>
#include <redlock/mutex.hpp>

#include <boost/intrusive/list_hook.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace redlock::detail {

class engine;
struct lock_state;

/// One call of `inspect`: asks every node for the key, beside whatever else this client does with it. It stands in no
/// queue and changes nothing, neither on the nodes nor in what this client knows of the lock.
class inspector final : private net::reply_sink, private core::timer, private net::task {
public:
    boost::intrusive::list_member_hook<> link; ///< in the engine's list of those who have not completed

    using handler_type = completion_handler<inspection_signature>;

    explicit inspector(engine& owner);

    void start(std::shared_ptr<lock_state>, handler_type);
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    void cancel(std::uint32_t generation);
    /// Ends it with this error, unless it has ended.
    void abort(boost::system::error_code);
    /// Lets go of the handler without calling it, and of the lock.
    void forsake();

private:
    enum class phase : std::uint8_t { retired, asking, finished, draining };
    /// Bit of a tag: asked a second time.
    static constexpr std::uint32_t again = 0x100;

    /// Of one node.
    struct finding {
        core::key_sighting key{};
        core::instant read{}; ///< when it told how long the key lives
        bool immortal = false;
        bool ours = false;
    };

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void expire() override;
    void run() override;

    void ask(unsigned node, std::uint32_t round);
    [[nodiscard]] bool connected_to_majority() const;
    void take(unsigned node, kind::request, redis::resp_node const&);
    void take_owner(unsigned node, kind::sighting const&, redis::resp_node const&);
    void take_time_left(unsigned node, kind::sighting const&, redis::resp_node const&);
    void found_absent(unsigned node);
    void missed(unsigned node, std::uint32_t round, net::failure const&);
    void settle();
    void finish(boost::system::error_code);
    [[nodiscard]] core::key_sighting aged(unsigned node, core::instant now) const;
    [[nodiscard]] inspection report() const;
    void retire_if_drained();

    engine& engine_;
    std::shared_ptr<lock_state> lock_;
    handler_type handler_;
    std::vector<node_report> rows_;
    std::vector<finding> found_;
    boost::system::error_code result_;
    core::instant sent_;
    core::fence highest_number_ = 0;
    unsigned outstanding_ = 0; ///< replies on their way to us
    unsigned known_ = 0;       ///< nodes that have said whose the key is
    std::uint32_t generation_ = 0;
    bool connecting_ = false; ///< the time for that is not over
    phase phase_ = phase::retired;
};

} // namespace redlock::detail
