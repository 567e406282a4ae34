-- SPDX-License-Identifier: BSL-1.0
-- Gives the lock to the first in line instead of deleting it, and leaves the line (docs/protocol.md, rules L4, L10, L13
-- and EL2). KEYS: the lock, its line; of an election, what says who leads. ARGV: nonce, place (empty: we do not stand in line), "take" and for how many microseconds
-- the lock has passed from one to the next; or "free" and for how many it is left free. The first in line is told that. Of
-- an election, how that begins which says who leads, if it is ours.
-- 0: not ours, 1: deleted, 2: handed on.
-- An heir is called before a key is changed: where that is refused, nothing has been but our own place.
-- with line.lua
local ours = redis.call('mget', KEYS[1])[1] == ARGV[1]
if ARGV[2] ~= '' then
    local me = ARGV[1] .. ARGV[2]
    local first, second = front(KEYS[2])
    redis.call('zrem', KEYS[2], me)
    if first == me and second and not ours then
        tell_first(KEYS[2], second, string.format('%.0f', math.max(redis.call('pttl', KEYS[1]), 0)))
    end
end
local first, second
if ours then
    first, second = call_first(KEYS[2], ARGV[3], ARGV[4] .. ' ' .. ARGV[1])
end
if KEYS[3] and (redis.call('mget', KEYS[3])[1] or ''):sub(1, #ARGV[5]) == ARGV[5] then
    redis.call('del', KEYS[3])
end
if not ours then
    return 0
end
if not first or ARGV[3] == 'free' then
    redis.call('del', KEYS[1])
    return 1
end
give(KEYS[1], KEYS[2], first, second)
return 2
