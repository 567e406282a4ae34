// SPDX-License-Identifier: BSL-1.0
#include "kind/basics.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "kind/semaphore.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::kind;
using namespace redlock::redis;
using namespace std::chrono_literals;

namespace {

std::string const nonce = "0123456789abcdef0123456789abcdef";

std::vector<std::string> arguments(std::string_view wire)
{
    resp_parser parser;
    auto const result = parser.next(wire);
    BOOST_TEST_REQUIRE((result.status == parse_status::complete));
    BOOST_TEST_REQUIRE(result.consumed == wire.size());
    std::vector<std::string> words;
    for (auto const& node : parser.message().subspan(1)) {
        BOOST_TEST((node.type == resp_type::bulk_string));
        words.emplace_back(node.text);
    }
    BOOST_TEST(parser.message().front().size == words.size());
    return words;
}

using words = std::vector<std::string>;

std::string plainly(request what, lock_key key, std::chrono::milliseconds key_ttl = 10s,
                    script_form form = script_form::hash, std::string const& owner = nonce)
{
    std::string out;
    plain.make_commands("", {key_ttl, key_ttl})->append(out, what, {key, owner}, form);
    return out;
}

lock_key const seat{"", "seat:42"};

} // namespace

BOOST_AUTO_TEST_SUITE(kinds)

// rule A2
BOOST_AUTO_TEST_CASE(plain_vote_is_set_nx_px)
{
    std::string out = "+";
    plain.make_commands("", {10500ms, 10500ms})->append(out, request::vote, {seat, nonce}, script_form::hash);
    BOOST_TEST(out == "+*6\r\n$3\r\nSET\r\n$7\r\nseat:42\r\n$32\r\n" + nonce +
                          "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10500\r\n");
}

// rules A6, R1 and K5
BOOST_AUTO_TEST_CASE(plain_release_is_sent_as_script)
{
    auto const by_hash = arguments(plainly(request::release, {"seat:", "42"}));
    BOOST_TEST_REQUIRE(by_hash.size() == 5U);
    BOOST_TEST(by_hash[0] == "EVALSHA");
    BOOST_TEST(by_hash[1].size() == 40U);
    BOOST_TEST(by_hash[1].find_first_not_of("0123456789abcdef") == std::string::npos);
    BOOST_TEST((words{by_hash.begin() + 2, by_hash.end()} == words{"1", "seat:42", nonce}));

    auto const by_text = arguments(plainly(request::release, {"seat:", "42"}, 10s, script_form::text));
    BOOST_TEST_REQUIRE(by_text.size() == 5U);
    BOOST_TEST(by_text[0] == "EVAL");
    BOOST_TEST(by_text[1].find("redis.call('del', KEYS[1])") != std::string::npos);
    BOOST_TEST((words{by_text.begin() + 2, by_text.end()} == words{"1", "seat:42", nonce}));
}

// rule H4
BOOST_AUTO_TEST_CASE(plain_extension_is_sent_as_script)
{
    auto const by_hash = arguments(plainly(request::extend, seat, 1ms));
    BOOST_TEST_REQUIRE(by_hash.size() == 6U);
    BOOST_TEST(by_hash[0] == "EVALSHA");
    BOOST_TEST((words{by_hash.begin() + 2, by_hash.end()} == words{"1", "seat:42", nonce, "1"}));

    auto const by_text = arguments(plainly(request::extend, seat, 1ms, script_form::text));
    BOOST_TEST_REQUIRE(by_text.size() == 6U);
    BOOST_TEST(by_text[0] == "EVAL");
    BOOST_TEST(by_text[1].find("redis.call('pexpire', KEYS[1], ARGV[2])") != std::string::npos);
    BOOST_TEST((words{by_text.begin() + 2, by_text.end()} == words{"1", "seat:42", nonce, "1"}));

    BOOST_TEST(arguments(plainly(request::release, seat))[1] != by_hash[1]);
}

// rule K8
BOOST_AUTO_TEST_CASE(plain_release_and_extension_compare_natively)
{
    lock_key const key{"seat:", "42"};
    for (auto const form : {script_form::delex, script_form::delifeq})
        for (auto const what : {request::extend, request::adopt})
            BOOST_TEST((arguments(plainly(what, key, 1ms, form)) ==
                        words{"SET", "seat:42", nonce, "IFEQ", nonce, "PX", "1"}));
    BOOST_TEST((arguments(plainly(request::release, key, 1ms, script_form::delex)) ==
                words{"DELEX", "seat:42", "IFEQ", nonce}));
    BOOST_TEST((arguments(plainly(request::release, key, 1ms, script_form::delifeq)) ==
                words{"DELIFEQ", "seat:42", nonce}));
    std::string owed;
    plain.append(owed, request::release, {key, nonce}, script_form::delex);
    BOOST_TEST(owed == plainly(request::release, key, 1ms, script_form::delex));
}

// rule K8
BOOST_AUTO_TEST_CASE(only_extension_and_release_without_a_fence_are_native)
{
    for (std::size_t i = 0; i != request_count; ++i) {
        auto const what = static_cast<request>(i);
        bool const compares = what == request::extend || what == request::adopt || what == request::release;
        for (auto const* const type : {&plain, &writer})
            BOOST_TEST(type->native(what) == compares);
        for (auto const* const type : {&fenced, &fenced_writer, &reader, &fenced_reader})
            BOOST_TEST(!type->native(what));
    }
}

// rule K8
BOOST_AUTO_TEST_CASE(answers_to_native_extension_are_read)
{
    using meaning = answer::meaning;
    resp_node const ok{.type = resp_type::simple_string, .text = "OK"};
    resp_node const nil{.type = resp_type::null};
    resp_node const one{.type = resp_type::number, .number = 1};
    resp_node const odd{.type = resp_type::simple_string, .text = "QUEUED"};
    for (auto const what : {request::extend, request::adopt}) {
        BOOST_TEST((plain.read(what, ok).what == meaning::granted));
        BOOST_TEST(plain.read(what, ok).unread);
        BOOST_TEST((plain.read(what, nil).what == meaning::denied));
        BOOST_TEST(!plain.read(what, nil).unread);
        BOOST_TEST((plain.read(what, one).what == meaning::granted));
        BOOST_TEST(!plain.read(what, one).unread);
        BOOST_TEST((plain.read(what, odd).what == meaning::error));
    }
    BOOST_TEST((fenced.read(request::extend, ok).what == meaning::error));
}

// rule A7
BOOST_AUTO_TEST_CASE(what_was_not_executed_for_its_form_is_said_in_the_other)
{
    using form = script_form;
    struct row {
        std::string_view text;
        std::optional<form> after_hash;
        std::optional<form> after_text;
        std::optional<form> after_native;
    };
    constexpr auto no_form = std::nullopt;
    for (auto const& [text, after_hash, after_text, after_native] :
         {row{"NOSCRIPT No matching script. Please use EVAL.", form::text, no_form, no_form},
          row{"ERR unknown command 'DELEX', with args", form::delex, form::delex, form::text},
          row{"ERR syntax error", form::delex, form::delex, form::text},
          row{"ERR wrong number of arguments for 'delex' command", form::delex, form::delex, form::text},
          row{"NOPERM this user has no permissions to run the 'eval' command", form::delex, form::delex,
              form::text},
          row{"NOPERM No permissions to access a key", no_form, no_form, no_form},
          row{"OOM command not allowed when used memory > 'maxmemory'.", no_form, no_form, form::text},
          row{"WRONGTYPE Operation against a key", no_form, no_form, no_form},
          row{"ERR Key should be of string type if conditions are specified", no_form, no_form, no_form},
          row{"READONLY You can't write against a read only replica.", no_form, no_form, no_form},
          row{"ERR what", no_form, no_form, no_form}}) {
        resp_node const reply{.type = resp_type::simple_error, .text = text};
        BOOST_TEST((other_form(form::hash, reply, form::delex) == after_hash), text);
        BOOST_TEST((other_form(form::text, reply, form::delex) == after_text), text);
        BOOST_TEST((other_form(form::delex, reply, form::delex) == after_native), text);
        BOOST_TEST((other_form(form::delifeq, reply, no_form) == after_native), text);
        BOOST_TEST((other_form(form::text, reply, no_form) == no_form), text);
    }
    resp_node const nil{.type = resp_type::null};
    BOOST_TEST(!other_form(form::delex, nil, form::delex).has_value());
    BOOST_TEST(!refuses_form(nil));
}

BOOST_AUTO_TEST_CASE(key_and_nonce_may_hold_any_byte)
{
    std::string key;
    for (int byte = 0; byte < 256; ++byte)
        key.push_back(static_cast<char>(byte));
    std::string const strange("\0\r\n$*\xff", 6);
    auto const wild = strange + std::string(nonce_length - strange.size(), '\n');
    auto const vote = plainly(request::vote, {"", key}, 10s, script_form::hash, wild);
    BOOST_TEST((arguments(vote) == words{"SET", key, wild, "NX", "PX", "10000"}));
    auto const released = arguments(plainly(request::release, {"", key}, 10s, script_form::hash, wild));
    BOOST_TEST((words{released.begin() + 2, released.end()} == words{"1", key, wild}));
}

BOOST_AUTO_TEST_CASE(empty_key_is_sent_as_key)
{
    BOOST_TEST(
        (arguments(plainly(request::vote, {"", ""}, 1s)) == words{"SET", "", nonce, "NX", "PX", "1000"}));
}

/// A key prefix and a name are one key.
BOOST_AUTO_TEST_CASE(fenced_vote_names_lock_fence_and_marker_keys)
{
    std::string out;
    auto const commands = fenced.make_commands("app:", {11s, 24h});
    commands->append(out, request::vote, {{"app:", "seat"}, nonce, 1700}, script_form::hash);
    append_marker(out, "7/8");
    auto const said = arguments(out);
    BOOST_TEST((words{said.begin() + 2, said.end()} ==
                words{"4", "app:seat", "app:seat", "app:seat:redlock-fence", "app:redlock-marker", "x", nonce,
                      "11000", "", "86400000", "1700", "7/8"}));
}

BOOST_AUTO_TEST_CASE(malformed_reply_to_vote_is_an_error)
{
    using meaning = answer::meaning;
    auto const number = [](std::int64_t n) { return resp_node{.type = resp_type::number, .number = n}; };
    auto const status = [](std::string_view text) {
        return resp_node{.type = resp_type::simple_string, .text = text};
    };
    BOOST_TEST((plain.read(request::vote, status("OK")).what == meaning::granted));
    BOOST_TEST((plain.read(request::vote, {}).what == meaning::denied));
    for (auto const& reply : {number(1), status("QUEUED"), status("")})
        BOOST_TEST((plain.read(request::vote, reply).what == meaning::error));
    BOOST_TEST((fenced.read(request::vote, number(7)).what == meaning::granted));
    BOOST_TEST((fenced.read(request::vote, status("HELD 5 7 abc")).what == meaning::denied));
    for (auto const& reply : {number(0), number(-1), number(std::int64_t{1} << 43U), status("OK"),
                              status("HELD 5 7"), status("HELD 5 8796093022208 abc"), status("HELD x 7 abc")})
        BOOST_TEST((fenced.read(request::vote, reply).what == meaning::error));
    BOOST_TEST((fenced.read(request::vote, status("STRANGER")).what == meaning::other_data));
}

// rule Q6
BOOST_AUTO_TEST_CASE(claims_name_previous_owner)
{
    std::string const previous_owner(32, 'g');
    std::string out;
    plain.make_commands("", {10s, 10s})
        ->append(out, request::claim, {seat, nonce, 0, previous_owner}, script_form::hash);
    auto const plainly = arguments(out);
    BOOST_TEST((words{plainly.begin() + 2, plainly.end()} ==
                words{"2", "seat:42", "seat:42:redlock-queue", "x", nonce, "10000", previous_owner}));

    out.clear();
    fenced.make_commands("", {10s, 90s})
        ->append(out, request::claim, {seat, nonce, 7, previous_owner}, script_form::hash);
    append_marker(out, "marker");
    auto const with_fence = arguments(out);
    BOOST_TEST((words{with_fence.begin() + 7, with_fence.end()} ==
                words{"x", nonce, "10000", previous_owner, "90000", "7", "marker"}));
}

// rule Q2
BOOST_AUTO_TEST_CASE(queue_is_told_the_position_and_what_becomes_of_the_lock)
{
    std::string const position =
        redlock::kind::position(nonce, waiter_kind::exclusive, 50ms, {}, "redlock-to:1");
    command_arguments args{{"seat:", "42"}, nonce, 0, {}, {.position = position, .time = 70us}};
    auto const said = [&](request what, script_form form) {
        std::string out;
        plain.append(out, what, args, form);
        auto const all = arguments(out);
        return words{all.begin() + 2, all.end()};
    };
    words const keys{"2", "seat:42", "seat:42:redlock-queue"};
    auto const with = [&](words const& more) {
        words all = keys;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    BOOST_TEST((said(request::enter, script_form::hash) == with({position, "60000", "4096", ""})));
    BOOST_TEST(
        (said(request::give_back, script_form::text) == with({"x", nonce, position, "take", "70", ""})));
    args.queue.at_front = true;
    BOOST_TEST(said(request::enter, script_form::hash).back() == "front");
    args.queue = {.leaves_free = true, .time = 2ms};
    BOOST_TEST((said(request::give_back, script_form::hash) == with({"x", nonce, "", "free", "2000", ""})));
}

BOOST_AUTO_TEST_CASE(reader_is_told_with_the_queue)
{
    std::string const previous_owner(32, 'g');
    std::string const position =
        redlock::kind::position(nonce, waiter_kind::shared, 50ms, {}, "redlock-to:1");
    command_arguments args{{"seat:", "42"}, nonce};
    auto const said = [&](request what) {
        std::string out;
        reader.make_commands("", {10s, 10s})->append(out, what, args, script_form::hash);
        auto const all = arguments(out);
        return words{all.begin() + 2, all.end()};
    };
    auto const with_keys = [](words rest) {
        rest.insert(rest.begin(), {"2", "seat:42", "seat:42:redlock-queue"});
        return rest;
    };
    BOOST_TEST((said(request::vote) == with_keys({"r", nonce, "10000", ""})));
    BOOST_TEST((said(request::extend) == with_keys({"r", nonce, "10000"})));
    BOOST_TEST((said(request::release) == with_keys({"r", nonce, "", "none", "0", ""})));
    args.previous_owner = previous_owner;
    args.queue = {.position = position, .time = 70us};
    BOOST_TEST((said(request::claim) == with_keys({"r", nonce, "10000", previous_owner})));
    BOOST_TEST((said(request::enter) == with_keys({position, "60000", "4096", ""})));
    BOOST_TEST((said(request::give_back) == with_keys({"r", nonce, position, "take", "70", ""})));
    args.queue = {.leaves_free = true, .time = 2ms};
    BOOST_TEST((said(request::give_back) == with_keys({"r", nonce, "", "free", "2000", ""})));
    std::string owed;
    reader.append(owed, request::give_back, args, script_form::hash);
    auto const all = arguments(owed);
    BOOST_TEST((words{all.begin() + 2, all.end()} == said(request::give_back)));
}

BOOST_AUTO_TEST_CASE(writer_is_told_as_an_exclusive_owner_until_it_is_a_reader)
{
    auto const said = [](lock_kind const& type, request what, script_form form) {
        std::string out;
        type.make_commands("p:", {10s, 20s, 30s})->append(out, what, {seat, nonce, 17}, form);
        return out;
    };
    for (auto const form : {script_form::hash, script_form::text}) {
        for (auto const what :
             {request::vote, request::claim, request::extend, request::release, request::give_back}) {
            BOOST_TEST(said(writer, what, form) == said(plain, what, form));
            bool const renews = what == request::extend; // a key that is gone is not set again
            BOOST_TEST((said(fenced_writer, what, form) == said(fenced, what, form)) == !renews);
        }
        BOOST_TEST(said(writer, request::downgrade, form) == said(reader, request::extend, form));
        BOOST_TEST(said(fenced_writer, request::downgrade, form) ==
                   said(fenced_reader, request::extend, form));
    }
    for (auto const* const type : {&writer, &fenced_writer}) {
        BOOST_TEST(type->script(request::downgrade) == reader.script(request::extend));
        BOOST_TEST((type->position_kind() == waiter_kind::exclusive));
        BOOST_TEST((type->as_reader->position_kind() == waiter_kind::shared));
        BOOST_TEST(type->as_reader->counts() == type->counts());
    }
}

/// The marker comes last, and is said elsewhere.
BOOST_AUTO_TEST_CASE(reader_with_a_fence_names_it_behind_the_rest)
{
    auto const said = [&](lock_kind const& type, request what) {
        std::string out;
        type.make_commands("p:", {10s, 20s, 30s})->append(out, what, {seat, nonce, 17}, script_form::hash);
        append_marker(out, "m");
        auto const all = arguments(out);
        return words{all.begin() + 2, all.end()};
    };
    auto const with_keys = [](words rest) {
        rest.insert(rest.begin(),
                    {"4", "seat:42", "seat:42:redlock-queue", "seat:42:redlock-fence", "p:redlock-marker"});
        return rest;
    };
    BOOST_TEST(
        (said(fenced_reader, request::vote) == with_keys({"r", nonce, "10000", "", "20000", "30000", "m"})));
    BOOST_TEST((said(fenced_reader, request::extend) ==
                with_keys({"r", nonce, "10000", "", "20000", "17", "", "m"})));
    BOOST_TEST((said(fenced_writer, request::extend) ==
                with_keys({"x", nonce, "10000", "", "20000", "17", "", "m"})));
    BOOST_TEST((said(fenced_reader, request::write_back) == said(fenced, request::write_back)));
    for (auto const* const type : {&fenced_reader, &fenced_writer}) {
        for (auto const what : {request::vote, request::write_back, request::extend, request::downgrade})
            BOOST_TEST(type->marks(what));
        BOOST_TEST(!type->marks(request::give_back));
        BOOST_TEST(type->counts());
    }
}

BOOST_AUTO_TEST_CASE(answers_with_a_fence_tell_it)
{
    resp_node const granted{.type = resp_type::number, .number = 17};
    resp_node const held{.type = resp_type::simple_string, .text = "HELD 700 17 READERS"};
    for (auto const* const type : {&fenced_reader, &fenced_writer}) {
        BOOST_TEST((type->read(request::vote, granted).what == answer::meaning::granted));
        BOOST_TEST(type->read(request::vote, granted).number == 17U);
        BOOST_TEST((type->read(request::vote, held).what == answer::meaning::denied));
        BOOST_TEST(type->read(request::vote, held).number == 17U);
        BOOST_TEST((type->read_observation(request::vote, held).who == redlock::holder_kind::readers));
    }
}

BOOST_AUTO_TEST_CASE(refusal_of_a_reader_names_the_holder)
{
    using holder = redlock::holder_kind;
    for (auto const* const type : {&reader, &fenced_reader}) {
        auto const seen = [&](std::string_view text) {
            resp_node const said{.type = resp_type::simple_string, .text = text};
            BOOST_TEST((type->read(request::vote, said).what == answer::meaning::denied));
            return type->read_observation(request::vote, said);
        };
        BOOST_TEST((seen("HELD 700 0 READERS").who == holder::readers));
        BOOST_TEST(seen("HELD 700 0 READERS").owner == 0U);
        BOOST_TEST((seen("HELD 700 0 PERMITS").who == holder::permits));
        BOOST_TEST((seen("QUEUED").who == holder::waiting));
        BOOST_TEST(seen("QUEUED").owner == 0U);
        BOOST_TEST(!seen("QUEUED").left);
        BOOST_TEST((seen("HELD 700 0 01234567").who == holder::owner));
        BOOST_TEST(seen("HELD 700 0 01234567").owner == owner_id("01234567"));
        BOOST_TEST((seen("HELD 700 0 01234567").left == 700ms));
        BOOST_TEST(seen("HELD -1 0 ").immortal);
        BOOST_TEST((seen("HELD 700 0 ").who == holder::maybe_readers)); // or other data
    }
}

BOOST_AUTO_TEST_CASE(release_of_a_reader_may_be_handed_on)
{
    resp_node const two{.type = resp_type::number, .number = 2};
    for (auto const* const type : {&reader, &fenced_reader})
        for (auto const what : {request::release, request::give_back}) {
            BOOST_TEST((type->read(what, two).what == answer::meaning::granted));
            BOOST_TEST(type->read(what, two).handed_on);
        }
    BOOST_TEST((reader.read(request::extend, two).what == answer::meaning::repaired));
}

// rules M3 and R2
BOOST_AUTO_TEST_CASE(release_of_several_names_may_hand_on_a_part_of_them)
{
    resp_node const three{.type = resp_type::number, .number = 3};
    for (auto const* const type : {&multi, &fenced_multi}) {
        BOOST_TEST((type->read(request::give_back, three).what == answer::meaning::denied));
        BOOST_TEST(type->read(request::give_back, three).handed_on);
        resp_node const none{.type = resp_type::number};
        BOOST_TEST(!type->read(request::give_back, none).handed_on);
    }
}

/// A plain or fenced lock cannot tell readers from other data that expires.
BOOST_AUTO_TEST_CASE(refusal_without_owner_may_be_readers)
{
    resp_node const held{.type = resp_type::simple_string, .text = "HELD 700 0 "};
    auto const seen = fenced.read_observation(request::vote, held);
    using redlock::holder_kind;
    BOOST_TEST((seen.who == holder_kind::maybe_readers));
    BOOST_TEST(!seen.immortal);
    resp_node const wrong_type{.type = resp_type::simple_error, .text = "WRONGTYPE Operation against"};
    BOOST_TEST((plain.read_observation(request::owner, wrong_type).who == holder_kind::maybe_readers));
}

BOOST_AUTO_TEST_CASE(question_whose_key_it_is_knows_readers)
{
    using redlock::holder_kind;
    for (auto const* const type : {&plain, &fenced, &reader, &writer}) {
        BOOST_TEST(type->script(request::whose) != nullptr);
        std::string out;
        type->append(out, request::whose, {{"", "seat:42"}, {}}, script_form::hash);
        BOOST_TEST(out.starts_with("*4\r\n$7\r\nEVALSHA\r\n"));
        BOOST_TEST(out.ends_with("\r\n$1\r\n1\r\n$7\r\nseat:42\r\n"));
        auto const seen = [&](resp_type what, std::string_view text) {
            return type->read_observation(request::whose, {.type = what, .text = text});
        };
        BOOST_TEST((seen(resp_type::simple_string, "READERS").who == holder_kind::readers));
        BOOST_TEST(seen(resp_type::simple_string, "NONE").gone);
        BOOST_TEST(
            (seen(resp_type::simple_error, "WRONGTYPE this is no lock: seat").who == holder_kind::no_lock));
        BOOST_TEST((seen(resp_type::simple_error, "NOPERM no").who == holder_kind::unknown));
        auto const text = seen(resp_type::bulk_string, "READERS"); // somebody's nonce
        BOOST_TEST((text.who == holder_kind::owner));
        BOOST_TEST((text.nonce == "READERS"));
    }
}

// rule Q2
BOOST_AUTO_TEST_CASE(answers_of_the_queue_tell_of_position_and_holder)
{
    using meaning = answer::meaning;
    resp_node const standing{.type = resp_type::simple_string, .text = "LINE 700 3 01234567"};
    for (auto const* const type : {&plain, &fenced}) {
        auto const said = type->read(request::enter, standing);
        BOOST_TEST((said.what == meaning::denied));
        BOOST_TEST(said.number == 3U);
        auto const seen = type->read_observation(request::enter, standing);
        BOOST_TEST((seen.left == 700ms));
        BOOST_TEST(seen.owner == owner_id("01234567"));
        resp_node const full{.type = resp_type::simple_string, .text = "FULL"};
        BOOST_TEST((type->read(request::enter, full).what == meaning::error));
        resp_node const held{.type = resp_type::simple_string, .text = "HELD 700 0 01234567"};
        BOOST_TEST((type->read(request::claim, held).what == meaning::denied));
        BOOST_TEST((type->read_observation(request::claim, held).left == 700ms));
        resp_node const two{.type = resp_type::number, .number = 2};
        BOOST_TEST((type->read(request::give_back, two).what == meaning::granted));
        BOOST_TEST(type->read(request::give_back, two).handed_on);
        resp_node const never{.type = resp_type::simple_string, .text = "LINE -1 0 01234567"};
        BOOST_TEST(type->read_observation(request::enter, never).immortal);
        BOOST_TEST(!type->read_observation(request::enter, never).left);
    }
    for (auto const text :
         {"LINE", "LINE ", "LINE 700", "LINE 700 x 01234567", "LINE x 1 a", "LINED 1 1 a"}) {
        resp_node const odd{.type = resp_type::simple_string, .text = text};
        BOOST_TEST((plain.read(request::enter, odd).what == meaning::error), text);
    }
}

// rule Q3
BOOST_AUTO_TEST_CASE(calls_name_their_waiter)
{
    std::string const previous_owner(32, 'g');
    std::string const word = "take " + nonce + " 250 " + previous_owner;
    auto const handed = read_call(word);
    BOOST_TEST_REQUIRE(handed.has_value());
    BOOST_TEST((handed->what == call::word::take));
    BOOST_TEST(handed->nonce == nonce);
    BOOST_TEST(handed->previous_owner == previous_owner);
    BOOST_TEST((handed->time == 250us));
    BOOST_TEST(read_call("take " + nonce + " 0 ").value().previous_owner == "");
    std::string const next = "first " + nonce + " 50";
    auto const moved = read_call(next);
    BOOST_TEST_REQUIRE(moved.has_value());
    BOOST_TEST((moved->what == call::word::first));
    BOOST_TEST((moved->time == 50ms));
    std::string const left = "free " + nonce + " 2000 " + previous_owner;
    BOOST_TEST((read_call(left).value().what == call::word::free));
    BOOST_TEST((read_call(left).value().time == 2ms));
    std::string const too_long = "take " + nonce + " 172800000001 "; // it is called nevertheless
    BOOST_TEST_REQUIRE(read_call(too_long).has_value());
    BOOST_TEST((read_call(too_long)->time == 48h));
    for (std::string const& odd :
         words{"", "take", "take ", "first", "take " + previous_owner.substr(1), "last " + nonce + " 0",
               "take " + nonce + " 0 x", "take " + nonce + " x ", "take " + nonce + " -1 ", "first " + nonce,
               "first " + nonce + " 0 " + previous_owner, "free " + nonce + ' ', "free " + nonce + " 0 x",
               " take " + nonce + " 0 "})
        BOOST_TEST(!read_call(odd), odd);
}

BOOST_AUTO_TEST_CASE(permits_that_no_node_gives_are_none)
{
    permits const two{.limit = 12, .count = 2};
    for (std::string_view const good : {"0 1", "3 11"})
        BOOST_TEST(are_permits(two, good), good);
    for (std::string_view const bad :
         {"", "1", "1 2 3", "1 1", "2 1", "1 12", "1 x", "-1 1", "1  2", "00000000001 2", "0 4294967296"})
        BOOST_TEST(!are_permits(two, bad), bad);
    permit_list list(two);
    list.assign("3 11");
    BOOST_TEST(list.text() == "3 11");
    BOOST_TEST((list.numbers() == std::vector<std::uint16_t>{3, 11}));
}

BOOST_AUTO_TEST_SUITE_END()
