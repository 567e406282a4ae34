#include "world/keyspace.hpp"

#include <utility>

namespace redlock::world {

keyspace::value const* keyspace::find(std::string const& key, millis now)
{
    auto const at = values_.find(key);
    if (at == values_.end())
        return nullptr;
    if (!at->second.expires || now <= *at->second.expires)
        return &at->second;
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
    return found && found->is_string ? std::optional(found->text) : std::nullopt;
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
