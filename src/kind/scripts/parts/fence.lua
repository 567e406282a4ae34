-- SPDX-License-Identifier: BSL-1.0
-- Counts grants in the lock's fence, KEYS[3], if the node's marker, KEYS[4], is the expected one (docs/protocol.md, rules F1 to
-- F6). The fence of permits is a hash with a number for each of them.
-- rule P5
local function is_fence(number)
    return number and number >= 0 and number < 8796093022208 -- 2^43: larger tokens would not be exact (rule F1)
end
local function unusable_fence()
    return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[3])
end
-- \return the reply that refuses, if there is one; the fence, whether there is one, the marker
local function see_fence(wants, expected)
    local seen = redis.call('mget', KEYS[3], KEYS[4])
    if expected ~= '' and seen[2] ~= expected then
        return redis.status_reply('STRANGER')
    end
    local type_there = seen[1] and 'string' or redis.call('type', KEYS[3]).ok
    local number = tonumber(seen[1] or (type_there == 'none' or type_there == 'hash' and wants == 'p') and 0)
    if not is_fence(number) or wants == 'p' and seen[1] then
        return unusable_fence()
    end
    return nil, number, seen[1] ~= false, seen[2]
end
-- \return the highest fence of these permits, and whether each has one; nil: one is no number of ours
local function highest_fence(permits)
    local highest, all = 0, true
    for _, each in ipairs(redis.call('hmget', KEYS[3], unpack(permits))) do
        local number = tonumber(each or 0)
        if not is_fence(number) then
            return nil
        end
        highest, all = math.max(highest, number), all and each
    end
    return highest, all
end
local function set_fences(permits, number, milliseconds)
    local write = {'hset', KEYS[3]}
    for i, permit in ipairs(permits) do
        write[2 * i + 1] = permit
        write[2 * i + 2] = number
    end
    redis.call(unpack(write))
    expire(KEYS[3], now + milliseconds, 'del', KEYS[3])
end
