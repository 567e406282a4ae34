// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "world/keyspace.hpp"
#include "world/sorted_set.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::world {

/// What the library's scripts (src/kind/scripts, src/redis/scripts) do, without Lua. A test compares both.
class script_run {
public:
    struct surroundings {
        keyspace& keys;
        std::int64_t now_us;                          ///< since 1970
        std::function<void(std::string const&)> read; ///< told of each key that is read
        /// Told of each command; throws `script_error` where the server refuses it.
        std::function<void(std::string_view)> before;
        /// Channel and text; how many have been told. Throws `script_error` where the channel is refused.
        std::function<std::size_t(std::string const&, std::string const&)> publish;
    };

    script_run(surroundings where, std::vector<std::string> keys, std::vector<std::string> arguments)
        : where_(std::move(where)), keys_(std::move(keys)), arguments_(std::move(arguments))
    {}

    /// \param sha1 of one of the library's scripts
    /// \returns the reply's bytes
    [[nodiscard]] std::string run(std::string_view sha1);

private:
    [[nodiscard]] std::string release();
    [[nodiscard]] std::string extend();
    [[nodiscard]] std::string fenced_vote();
    [[nodiscard]] std::string fenced_raise();
    [[nodiscard]] std::string fenced_extend();
    [[nodiscard]] std::string fenced_adopt();
    [[nodiscard]] std::string leader_release();
    [[nodiscard]] std::string claim();
    [[nodiscard]] std::string line_enter();
    [[nodiscard]] std::string line_release();
    [[nodiscard]] std::string shared_vote();
    [[nodiscard]] std::string shared_extend();
    [[nodiscard]] std::string shared_release();
    [[nodiscard]] std::string exclusive_vote();
    [[nodiscard]] std::string downgrade();
    [[nodiscard]] std::string whose();
    [[nodiscard]] std::string multi_vote();
    [[nodiscard]] std::string multi_extend();
    [[nodiscard]] std::string multi_raise();
    [[nodiscard]] std::string multi_release();
    [[nodiscard]] std::string slots_vote();
    [[nodiscard]] std::string slots_extend();
    [[nodiscard]] std::string slots_release();
    [[nodiscard]] std::string slots_enter();
    [[nodiscard]] std::string mark();
    [[nodiscard]] static std::string stopped(std::string_view sha1, std::string const& why);

    struct sight {
        std::optional<std::string> lock;
        std::optional<std::string> fence;
        std::optional<std::string> marker;
        std::optional<std::string> leader;
    };
    [[nodiscard]] sight look();
    [[nodiscard]] static bool strange(std::optional<std::string> const& marker, std::string const& expected);
    [[nodiscard]] std::optional<double> fence_of(std::optional<std::string> const& text,
                                                 std::string const& key);
    [[nodiscard]] static std::string no_fence(std::string const& key);
    struct taking {
        bool granted = false;
        bool stood = false; ///< it was ours already
    };
    [[nodiscard]] taking take();
    void proclaim(std::optional<std::string> const& stands);
    void retract(std::string const& leader, std::string const& beginning);
    [[nodiscard]] std::string held(std::string const& fence);

    using two_places = std::pair<std::optional<std::string>, std::optional<std::string>>;
    [[nodiscard]] std::optional<std::size_t> stand_in_line(std::string const& line, std::string const& me);
    [[nodiscard]] static std::string in_line(double left, std::size_t before, std::string const& owner);
    [[nodiscard]] two_places front(std::string const& line);
    [[nodiscard]] two_places call_first(std::string const& line, std::string const& word,
                                        std::string const& rest);
    [[nodiscard]] millis give(std::string const& lock, std::string const& line, std::string const& heir,
                              std::optional<std::string> const& next);
    void tell_first(std::string const& line, std::optional<std::string> place, std::string const& left);
    [[nodiscard]] bool hears_that_it_is_first(std::string const& place, std::string const& left);
    std::size_t call(std::string_view word, std::string const& place, std::string const& rest);

    static constexpr double end_of_fences = 8796093022208; // 2^43
    struct fence_sight {
        bool is_kept = false;
        bool strange = false; ///< another node than expected
        bool absent = false;
        std::optional<double> value{};  ///< nothing: it is no number that can be counted on from
        std::optional<double> placed{}; ///< the marker, if it says when
    };
    [[nodiscard]] fence_sight see_fence(std::size_t key, std::size_t marker);
    [[nodiscard]] std::optional<double> take_snapshot(fence_sight const&, double moment) const;
    [[nodiscard]] std::optional<double> count(fence_sight const&, double moment);
    void keep_fence(fence_sight const&);
    [[nodiscard]] bool is_member(std::string const& who);
    [[nodiscard]] bool is_ours();
    [[nodiscard]] bool reads();
    [[nodiscard]] bool is_set_of_readers(double left);
    [[nodiscard]] bool are_permits(millis left);
    [[nodiscard]] double gate_mark(std::string const& who, std::string const& longest);
    void leave_mark(std::string const& who, std::string const& length);
    void ask_for_turn();
    void keep_readers_out(std::string const& length, bool takes_more = false);
    [[nodiscard]] bool is_fresh(std::string const& mark, std::string const& length);
    [[nodiscard]] bool has_gate();
    [[nodiscard]] bool check_gate();
    [[nodiscard]] std::string no_gate() const;
    void open_turn();
    void admit();
    bool end_with_last();
    void keep_gate(std::string const& ms);
    void purge(std::string const& key);
    [[nodiscard]] std::optional<double> end_of_last();

    struct fences_sight {
        std::optional<std::string> refused{}; ///< a reply that says why they are not to be counted on
        std::vector<double> fences{};         ///< none: there are none
        double highest = 0;
    };
    [[nodiscard]] std::vector<std::string> locks() const;
    [[nodiscard]] fences_sight see_fences();
    [[nodiscard]] bool is_handed_on(std::string const& lock, std::string const& line);
    [[nodiscard]] std::optional<std::string> in_the_way(std::vector<std::string> const& all, double fence);

    /// By name, in ascending order.
    using slot_names = std::vector<std::string>;
    struct slots_sight {
        std::optional<std::string> wrong{}; ///< a reply that says what is
        bool open = false;                  ///< it is no other kind of lock
    };
    struct served {
        slot_names mine{};
        std::size_t others = 0; ///< how many were given theirs
    };
    struct slot_fences {
        double highest = 0;
        bool all = true; ///< each slot has one
    };
    [[nodiscard]] slots_sight see_slots(bool takes_more = false);
    [[nodiscard]] std::optional<std::string> slot_held(std::string const& slot);
    [[nodiscard]] std::string slots_full(double limit, double count);
    [[nodiscard]] double until_ended(double count);
    [[nodiscard]] slot_names slots_of(std::string const& owner);
    [[nodiscard]] slot_names ours_of(std::string const& named);
    [[nodiscard]] std::optional<slot_names> choose(double limit, double count, double start);
    [[nodiscard]] static std::string given(double fence, double taken, slot_names const&);
    [[nodiscard]] double taken_slots();
    [[nodiscard]] bool is_waited_for(std::string const& line);
    [[nodiscard]] bool serve_those_in_line();
    [[nodiscard]] std::string const& slot_fences_key() const;
    double renew_slots(slot_names const& slots, double ms);
    void take_slots(slot_names const&, std::string const& owner, double ms);
    double end_with_last_slot();
    [[nodiscard]] served serve(std::optional<std::string> const& giver, std::optional<std::string> const& me,
                               double start, bool moved);
    [[nodiscard]] std::size_t serve_others(double start, bool moved);
    [[nodiscard]] bool leaves_as_first();
    void tell_next();
    [[nodiscard]] std::optional<std::string> see_slot_fences(std::size_t marker);
    [[nodiscard]] std::optional<slot_fences> fences_of(slot_names const&);
    [[nodiscard]] std::optional<double> count_slots(slot_names const&, std::size_t proposal);
    [[nodiscard]] std::string no_slot_fence() const;
    void set_fences(slot_names const&, std::string const& fence, std::string const& ms);

    [[nodiscard]] millis now() const { return where_.now_us / 1000; }
    [[nodiscard]] keyspace::value const* look_at(std::string_view command, std::string const& key);
    [[nodiscard]] std::optional<std::string> get(std::string const& key);
    [[nodiscard]] std::vector<std::optional<std::string>> mget(std::vector<std::string> const& keys);
    [[nodiscard]] millis pttl(std::string const& key);
    [[nodiscard]] millis time();
    [[nodiscard]] std::optional<keyspace::type> type(std::string const& key);
    [[nodiscard]] bool exists(std::vector<std::string> const& keys);
    [[nodiscard]] sorted_set const& members(std::string_view command, std::string const& key);
    void zadd(std::string const& key, sorted_set::member);
    void need_memory(std::string const& key);
    bool zrem(std::string const& key, std::vector<std::string> const& names);
    [[nodiscard]] keyspace::fields const& fields(std::string_view command, std::string const& key);
    [[nodiscard]] std::optional<std::string> field(std::string_view command, std::string const& key,
                                                   std::string const& name);
    void hset(std::string const& key, std::string const& name, std::string const& text);
    void hdel(std::string const& key, std::vector<std::string> const& names);
    void pexpire(std::string const& key, std::string const& ms);
    void pexpireat(std::string const& key, double at);
    void set(std::string const& key, std::string text, std::string const* ms);
    [[nodiscard]] bool set_new(std::string const& key, std::string text, std::string const* ms);
    void del(std::string const& key);

    surroundings where_;
    std::vector<std::string> keys_;
    std::vector<std::string> arguments_;
    std::size_t channel_at_ = 39; ///< in a place: behind its nonce and its milliseconds
};

struct script_error {
    std::string text;
};

} // namespace redlock::world
