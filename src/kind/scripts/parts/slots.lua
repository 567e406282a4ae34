-- SPDX-License-Identifier: BSL-1.0
-- The slots of a semaphore (docs/protocol.md, rule P1): KEYS[1] says whose each of them is, a hash; KEYS[2] until when, a
-- sorted set. Both end with the last slot.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Neither another kind of lock nor other data. What has ended goes. Before that the reply that says what is wrong.
-- \param takes_more a server that is out of memory refuses that
local function see_slots(takes_more)
    local lock = redis.call('type', KEYS[1]).ok
    local ends = redis.call('type', KEYS[2]).ok
    if ends ~= 'none' and (ends ~= 'zset' or redis.call('pttl', KEYS[2]) < 0) then
        return redis.error_reply('WRONGTYPE these are no slots of a semaphore: ' .. KEYS[2])
    end
    if lock ~= 'none' and (lock ~= 'hash' or ends == 'none') then
        return nil, false
    end
    if takes_more then
        redis.call('zadd', KEYS[2], 'xx', 0, '') -- as in enter.lua
    end
    if lock == 'none' and ends == 'zset' then -- somebody has deleted the lock
        redis.call('del', KEYS[2])
    end
    local over = redis.call('zrangebyscore', KEYS[2], '-inf', now)
    if over[1] then
        redis.call('hdel', KEYS[1], unpack(over))
        redis.call('zrem', KEYS[2], unpack(over))
    end
    return nil, true
end
local function words(text)
    local found = {}
    for word in string.gmatch(text, '%S+') do
        found[#found + 1] = word
    end
    return found
end
local function end_with_last()
    local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')[2] or now
    redis.call('pexpireat', KEYS[1], last)
    redis.call('pexpireat', KEYS[2], last)
    return last
end
-- Whichever right is missing, nothing is left that does not end.
local function renew(slots, milliseconds)
    end_with_last()
    local ends = {}
    for _, slot in ipairs(slots) do
        ends[#ends + 1] = now + milliseconds
        ends[#ends + 1] = slot
    end
    redis.call('zadd', KEYS[2], unpack(ends))
    return end_with_last()
end
local function take(slots, owner, milliseconds)
    local last, owners = renew(slots, milliseconds), {}
    for _, slot in ipairs(slots) do
        owners[#owners + 1] = slot
        owners[#owners + 1] = owner
    end
    redis.call('hset', KEYS[1], unpack(owners))
    redis.call('pexpireat', KEYS[1], last)
end
-- How long until so many of them have ended.
local function until_ended(count)
    return (redis.call('zrange', KEYS[2], count - 1, count - 1, 'withscores')[2] or now) - now
end
-- Those of all that have this owner.
local function slots_of(owner)
    local all = redis.call('hgetall', KEYS[1])
    local found = {}
    for i = 1, #all, 2 do
        if all[i + 1] == owner then
            found[#found + 1] = all[i]
        end
    end
    table.sort(found, function(a, b) return tonumber(a) < tonumber(b) end)
    return found
end
-- So many that are free, from there on and round; nothing: there are not. A few are asked for one by one, and then all.
local function choose(limit, count, start)
    if limit - redis.call('hlen', KEYS[1]) < count then
        return nil
    end
    local chosen, owners = {}, nil
    for i = 0, limit - 1 do
        local slot = (start + i) % limit
        if i == 8 then
            owners = {}
            for _, each in ipairs(redis.call('hkeys', KEYS[1])) do
                owners[each] = true
            end
        end
        local name = string.format('%.0f', slot)
        local taken = owners and owners[name] or not owners and redis.call('hexists', KEYS[1], name) == 1
        if not taken then
            chosen[#chosen + 1] = slot
            if #chosen == count then
                break
            end
        end
    end
    table.sort(chosen)
    for i, slot in ipairs(chosen) do
        chosen[i] = string.format('%.0f', slot)
    end
    return chosen
end
