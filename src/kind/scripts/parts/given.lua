-- SPDX-License-Identifier: BSL-1.0
-- All readers must be the previous owner, and not only one of them.
-- rule Q6
local function are_readers_given()
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
    for _, reader in ipairs(redis.call('zrange', KEYS[1], 0, 2)) do
        if not is_given(reader) then
            return false
        end
    end
    return true
end
-- All owners of permits must be the previous owner. A reader does not replace permits.
local function are_permits_given()
    -- with over.lua
    purge()
    if kind == 'hash' and wants == 'r' then
        return false
    end
    local all = kind == 'hash' and redis.call('hgetall', KEYS[1]) or {}
    for i = 1, #all, 2 do
        if all[i] ~= 'next' and not is_given(all[i + 1]:sub(1, 32)) then
            return false
        end
    end
    return kind ~= 'foreign'
end
