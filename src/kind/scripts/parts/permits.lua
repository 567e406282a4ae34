-- SPDX-License-Identifier: BSL-1.0
-- with over.lua
-- Returns the first `count` free numbers below the limit, in ascending order; nil if there are too few. Looks at `most`
-- numbers, from `start` on and round.
local function pick(count, limit, start, most, owned)
    local chosen = {}
    for i = start, start + most - 1 do
        local number = i % limit
        if not owned[number] then
            chosen[#chosen + 1] = number
            if #chosen == count then
                table.sort(chosen)
                return chosen
            end
        end
    end
end
-- Looks at a few one by one, and then at all: even a look at one field reads all of a small hash.
local function pick_free(count, limit, start)
    local most = math.min(limit, count + 7)
    local look, owned = {'hmget', KEYS[1], 'next'}, {}
    for i = 1, most do
        look[i + 3] = (start + i - 1) % limit
    end
    local seen = redis.call(unpack(look))
    if not learn_next(seen[1]) then
        return nil
    end
    for i = 1, most do
        owned[look[i + 3]] = seen[i + 1]
    end
    local chosen = pick(count, limit, start, most, owned)
    if not chosen and most < limit then
        for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
            owned[tonumber(field) or field] = true
        end
        chosen = pick(count, limit, start, limit, owned)
    end
    return chosen
end
-- Returns free permits; nil if there are too few. Every permit that is taken counts, also one above the limit.
-- rules P3, P8 and P9
local function choose(count, limit, start)
    if kind == 'none' then
        return pick(count, limit, start, limit, {})
    elseif kind ~= 'hash' then
        return nil
    end
    taken = taken or redis.call('hlen', KEYS[1]) - 1
    if limit - taken >= count then
        return pick_free(count, limit, start)
    end
    return purge() and choose(count, limit, start) or nil
end
local is_behind = false -- Does `next` tell the end of one of our permits, which gets a later one?
-- Returns when the first of the other permits ends, nil if there are none. If there are many, `next` has the time.
local function end_of_others(numbers)
    local count = redis.call('hlen', KEYS[1]) - 1
    if count > 4 then
        return next_end
    end
    local all, first, ours = count > 1 and redis.call('hgetall', KEYS[1]) or {}, nil, {next = true}
    for _, number in ipairs(numbers) do
        ours[tostring(number)] = true
    end
    for i = 1, #all, 2 do
        if not ours[all[i]] then
            first = math.min(first or end_of(all[i + 1]), end_of(all[i + 1]))
        end
    end
    return first
end
-- Returns the command that gives these permits to one nonce.
local function permits_write(nonce, ends, numbers)
    local write, value = {'hset', KEYS[1]}, nonce .. ends
    for i, number in ipairs(numbers) do
        write[2 * i + 1] = number
        write[2 * i + 2] = value
    end
    local first = kind == 'hash' and next_end
    if is_behind then
        first = end_of_others(numbers)
    end
    first = math.min(first or ends, ends)
    if kind ~= 'hash' or next_end ~= first then
        write[#write + 1] = 'next'
        write[#write + 1] = first
        next_end = first
    end
    return write
end
-- Does the key expire no sooner than that? Then its expiry is left alone: Redis 7.0 reads the clock for what is left, which may
-- be less than there was at `now`.
local function lives_until(ends)
    return kind == 'hash' and now + redis.call('pttl', KEYS[1]) >= ends
end
-- rule P1
local function take_permits(nonce, milliseconds, numbers)
    local ends = now + milliseconds
    local write = permits_write(nonce, ends, numbers)
    make_room(unpack(write))
    local lives, added = lives_until(ends), redis.call(unpack(write))
    if kind == 'hash' then
        taken = taken and taken + added
        if not lives then
            expire(KEYS[1], ends, 'hdel', KEYS[1], unpack(numbers))
        end
    else
        expire(KEYS[1], ends, 'del', KEYS[1])
        kind, taken = 'hash', #numbers
    end
end
