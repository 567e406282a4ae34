-- SPDX-License-Identifier: BSL-1.0
-- Returns for how many milliseconds the lock is held at least, and by whom.
local function who_holds()
    -- with free.lua
    if is_free() then
        return 0, ''
    elseif kind == 'zset' then
        return math.max(last_end - now, 0), 'READERS'
    elseif kind == 'hash' then
        return next_end - now, 'PERMITS'
    end
    local left = math.max(redis.call('pttl', KEYS[1]), -1)
    return string.format('%.0f', left), (redis.call('mget', KEYS[1])[1] or ''):sub(1, 8)
end
