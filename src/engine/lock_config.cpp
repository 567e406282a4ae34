// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_config.hpp"

#include "core/admission.hpp"
#include "core/validity.hpp"
#include "engine/configuration.hpp"
#include <redlock/lock_options.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::detail {

namespace {

// rule S16
core::lease_terms terms_of(lock_options const& options, kind::lock_kind const& type)
{
    core::lease_terms terms{.ttl = options.ttl, .slack = slack_of(options)};
    terms.renew = options.renew;
    terms.tolerate_suspect = options.tolerate_suspect;
    terms.guarded = type.counts() && !type.as_reader; // a higher fence may be of another reader (rule S16)
    if (options.progress_within)
        terms.progress_within = *options.progress_within;
    if (options.max_hold)
        terms.max_hold = *options.max_hold;
    return terms;
}

kind::lifetimes lifetimes_of(std::chrono::milliseconds key, all_options const& options,
                             client_settings const& settings)
{
    auto const longest = std::max(core::duration{key}, settings.longest_ttl);
    return {key, fence_ttl_of(options),
            std::chrono::ceil<std::chrono::milliseconds>(core::quarantine_length(longest))};
}

} // namespace

lock_config::lock_config(std::shared_ptr<engine> owner, runtime& its, client_settings const& given,
                         all_options const& its_options, kind::lock_kind const& type,
                         kind::lock_terms its_terms)
    : client(std::move(owner)), on(its), settings(given), options(its_options),
      terms(terms_of(its_options, type)), node_timeout(node_timeout_of(its_options, settings)),
      key_ttl(core::key_ttl(its_options.ttl, slack_of(its_options))),
      batch_policy{its_options.handover.batch, its_options.handover.period},
      commands(type.make_commands(settings.key_prefix, lifetimes_of(key_ttl, its_options, settings))),
      kind(type), kind_terms(std::move(its_terms))
{}

std::shared_ptr<lock_config const> lock_configs::get(std::shared_ptr<engine> const& owner, runtime& its,
                                                     client_settings const& settings,
                                                     all_options const& options, kind::lock_kind const& type,
                                                     kind::lock_terms terms)
{
    std::scoped_lock const guard(guard_);
    for (auto const& known : recent_)
        if (auto same = known.lock();
            same && same->options == options && &same->kind == &type && same->kind_terms == terms)
            return same;
    auto made = std::make_shared<lock_config const>(owner, its, settings, options, type, std::move(terms));
    recent_[oldest_++ % recent_.size()] = made;
    return made;
}

} // namespace redlock::detail
