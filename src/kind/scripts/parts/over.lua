-- SPDX-License-Identifier: BSL-1.0
-- Removes permits that have ended. The value of a permit: nonce (32), end.
-- An end that cannot be read is never over.
local function end_of(value)
    return tonumber(value:sub(33)) or now + 3600000
end
-- The hash of another program has no field `next`.
local function learn_next(field)
    next_end = tonumber(field)
    if not next_end then
        kind = 'foreign'
    end
    return next_end
end
-- Removes permits that have ended. \return whether there were any
-- rule P1
local function purge()
    if not next_end and not learn_next(redis.call('hget', KEYS[1], 'next')) or next_end > now then
        return false
    end
    local all, over = redis.call('hgetall', KEYS[1]), {}
    next_end = nil
    for i = 1, #all, 2 do
        local ends = all[i] ~= 'next' and end_of(all[i + 1])
        if ends and ends <= now then
            over[#over + 1] = all[i]
        elseif ends then
            next_end = math.min(next_end or ends, ends)
        end
    end
    taken = #all / 2 - 1 - #over
    -- A full server refuses this. It would not refuse what follows a removal (rule K9).
    redis.call('hset', KEYS[1], 'next', next_end or 0)
    if taken == 0 then
        redis.call('del', KEYS[1])
        kind = 'none'
        return true
    end
    if over[1] then
        redis.call('hdel', KEYS[1], unpack(over))
    end
    return over[1] ~= nil
end
