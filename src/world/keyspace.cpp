// SPDX-License-Identifier: BSL-1.0
#include "world/keyspace.hpp"

#include <algorithm>
#include <utility>

namespace redlock::world {

keyspace::value const* keyspace::find(std::string const& key, millis now)
{
    auto const at = values_.find(key);
    if (at == values_.end())
        return nullptr;
    if (!at->second.expires || now <= *at->second.expires)
        return &at->second;
    if (keeps_expired_)
        return nullptr;
    values_.erase(at);
    changed_(key);
    return nullptr;
}

bool keyspace::shows(std::string const& key, millis now) const
{
    auto const at = values_.find(key);
    return at != values_.end() && (!at->second.expires || now <= *at->second.expires);
}

std::optional<std::string> keyspace::text(std::string const& key, millis now)
{
    value const* const found = find(key, now);
    return found && found->is == type::string ? std::optional(found->text) : std::nullopt;
}

std::optional<std::string> keyspace::text_of(value const* found)
{
    if (found && found->is != type::string)
        throw wrong_type();
    return found ? std::optional(found->text) : std::nullopt;
}

sorted_set const& keyspace::members_of(value const* found)
{
    static sorted_set const none;
    if (found && found->is != type::sorted_set)
        throw wrong_type();
    return found ? found->members : none;
}

keyspace::fields const& keyspace::fields_of(value const* found)
{
    static fields const none;
    if (found && found->is != type::hash)
        throw wrong_type();
    return found ? found->hash : none;
}

millis keyspace::time_left(std::string const& key, millis now)
{
    value const* const found = find(key, now);
    if (!found)
        return -2;
    return found->expires ? *found->expires - now : -1;
}

void keyspace::set(std::string const& key, value v)
{
    values_.insert_or_assign(key, std::move(v));
    changed_(key);
}

void keyspace::set_members(std::string const& key, sorted_set members)
{
    if (members.size() == 0) {
        values_.erase(key);
    } else {
        value& v = values_[key];
        v.is = type::sorted_set;
        v.members = std::move(members);
    }
    changed_(key);
}

bool keyspace::set_field(std::string const& key, std::string const& name, std::string text, millis now)
{
    (void)fields_of(find(key, now));
    value& v = values_[key];
    v.is = type::hash;
    auto const at = std::ranges::find(v.hash, name, &fields::value_type::first);
    bool const is_new = at == v.hash.end();
    if (is_new)
        v.hash.emplace_back(name, std::move(text));
    else
        at->second = std::move(text);
    changed_(key);
    return is_new;
}

std::size_t keyspace::erase_fields(std::string const& key, std::vector<std::string> const& names, millis now)
{
    if (fields_of(find(key, now)).empty())
        return 0;
    fields& all = values_.at(key).hash;
    auto const gone = std::erase_if(
        all, [&](auto const& one) { return std::ranges::find(names, one.first) != names.end(); });
    if (all.empty())
        values_.erase(key);
    if (gone != 0)
        changed_(key);
    return gone;
}

bool keyspace::expire(std::string const& key, millis at, millis now)
{
    if (!find(key, now))
        return false;
    values_.at(key).expires = at;
    changed_(key);
    return true;
}

bool keyspace::erase(std::string const& key, millis now)
{
    if (!find(key, now))
        return false;
    values_.erase(key);
    changed_(key);
    return true;
}

} // namespace redlock::world
