-- SPDX-License-Identifier: BSL-1.0
local channel_at = 49
-- The two who stand first in a line.
local function front(line)
    local places = redis.call('zrange', line, 0, 1)
    return places[1], places[2]
end
local function call(word, whom, rest)
    return redis.call('publish', whom:sub(channel_at), word .. ' ' .. whom:sub(1, 32) .. ' ' .. rest)
end
-- A hint: without the right to say it nothing is lost.
local function tell_first(line, place, left)
    while place and redis.pcall('publish', place:sub(channel_at), 'first ' .. place:sub(1, 32) .. ' ' .. left) == 0 do
        redis.call('zrem', line, place)
        place = front(line)
    end
end
-- The first of those who hear it, and the one behind.
local function call_first(line, word, rest)
    local first, second = front(line)
    while first and call(word, first, rest) == 0 do
        redis.call('zrem', line, first)
        first, second = front(line)
    end
    return first, second
end
local function give(lock, line, heir, second)
    redis.call('zrem', line, heir)
    redis.call('set', lock, heir:sub(1, 32), 'px', tonumber(heir:sub(34, 40)))
    tell_first(line, second, heir:sub(34, 40))
end
