#include "lock/lock_state.hpp"

#include "core/validity.hpp"
#include "lock/engine.hpp"
#include "lock/resource.hpp"
#include "redis/server_words.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace redlock::lock {

namespace {

core::lease_terms terms_of(lock_options const& options, lock_kind kind)
{
    core::lease_terms terms{.ttl = options.ttl, .slack = slack_of(options)};
    terms.renew = options.renew;
    terms.tolerate_suspect = options.tolerate_suspect;
    terms.fenced = kind == lock_kind::fenced;
    if (options.progress_within)
        terms.progress_within = *options.progress_within;
    if (options.max_hold)
        terms.max_hold = *options.max_hold;
    return terms;
}

std::unique_ptr<redis::fenced_commands> fence_of(std::string const& key, std::chrono::milliseconds key_ttl,
                                                 lock_options const& options, client_settings const& client)
{
    std::string const fence = redis::name_beside(key, redis::fence_suffix);
    std::string const marker = redis::name_beside(client.key_prefix, redis::marker_name);
    return std::make_unique<redis::fenced_commands>(redis::fenced_keys{key, fence, marker}, key_ttl,
                                                    fence_ttl_of(options));
}

} // namespace

lock_state::lock_state(std::shared_ptr<engine> owner, std::string its_name, lock_options const& its_options,
                       lock_kind kind)
    : client(std::move(owner)), name(std::move(its_name)), options(its_options),
      terms(terms_of(its_options, kind)), node_timeout(node_timeout_of(its_options, client->settings())),
      key_ttl(core::key_ttl(its_options.ttl, slack_of(its_options))),
      commands(client->settings().key_prefix + name, key_ttl),
      fenced(kind == lock_kind::fenced
                 ? fence_of(client->settings().key_prefix + name, key_ttl, its_options, client->settings())
                 : nullptr),
      tenure{its_options.handover.batch, its_options.handover.period},
      wanted(client->resources().at(client->settings().key_prefix + name))
{
    client->expect_keys(key_ttl, terms.slack);
}

std::vector<node_outcome> lock_state::last_attempt() const
{
    return to_table(wanted->last_attempt(), client->settings().names);
}

bool same_terms(lock_state const& a, lock_state const& b)
{
    return &a == &b || (a.key_ttl == b.key_ttl && a.options.ttl == b.options.ttl && !a.fenced == !b.fenced);
}

namespace {

std::string owner_text(std::uint64_t id)
{
    std::string text(sizeof id, '\0');
    std::memcpy(text.data(), &id, sizeof id);
    text.resize(std::min(text.find('\0'), text.size()));
    return redis::printable(text);
}

} // namespace

std::vector<node_outcome> to_table(std::vector<node_report> const& rows,
                                   std::vector<std::string> const& names)
{
    std::vector<node_outcome> table;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        node_report const& row = rows[i];
        node_outcome out{names[i],      row.result, row.error, row.detail ? *row.detail : std::string(),
                         row.remaining, {}};
        out.owner = owner_text(row.owner);
        if (row.round_trip_us != 0)
            out.round_trip = std::chrono::microseconds{row.round_trip_us};
        table.push_back(std::move(out));
    }
    return table;
}

} // namespace redlock::lock
