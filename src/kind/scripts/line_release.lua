-- Gives the lock to the first in line instead of deleting it, and leaves the line (docs/protocol.md, rules L4, L10 and
-- L13). KEYS: the lock, its line. ARGV: nonce, place (empty: we do not stand in line), "take" and for how many microseconds
-- the lock has passed from one to the next; or "free" and for how many it is left free. The first in line is told that.
-- 0: not ours, 1: deleted, 2: handed on.
-- An heir is called before a key is changed: where that is refused, nothing has been but our own place.
local function front()
    local places = redis.call('zrange', KEYS[2], 0, 1)
    return places[1], places[2]
end
local function call(word, whom, rest)
    return redis.call('publish', whom:sub(40), word .. ' ' .. whom:sub(1, 32) .. ' ' .. rest)
end
-- A hint: without the right to say it nothing is lost.
local function tell_first(place, left)
    while place and redis.pcall('publish', place:sub(40), 'first ' .. place:sub(1, 32) .. ' ' .. left) == 0 do
        redis.call('zrem', KEYS[2], place)
        place = redis.call('zrange', KEYS[2], 0, 0)[1]
    end
end
local ours = redis.call('mget', KEYS[1])[1] == ARGV[1]
if ARGV[2] ~= '' then
    local me = ARGV[1] .. ARGV[2]
    local first, second = front()
    redis.call('zrem', KEYS[2], me)
    if first == me and second and not ours then
        tell_first(second, string.format('%.0f', math.max(redis.call('pttl', KEYS[1]), 0)))
    end
end
if not ours then
    return 0
end
local first, second = front()
while first and call(ARGV[3], first, ARGV[4] .. ' ' .. ARGV[1]) == 0 do
    redis.call('zrem', KEYS[2], first)
    first, second = front()
end
if not first or ARGV[3] == 'free' then
    redis.call('del', KEYS[1])
    return 1
end
redis.call('zrem', KEYS[2], first)
redis.call('set', KEYS[1], first:sub(1, 32), 'px', tonumber(first:sub(33, 39)))
tell_first(second, first:sub(33, 39))
return 2
