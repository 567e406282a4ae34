-- Gives the lock to the first in line instead of deleting it, and leaves the line (docs/protocol.md, rules L4 and L10).
-- KEYS: the lock, its line. ARGV: nonce, channel (empty: we do not stand in line), milliseconds that the lock is kept
-- for whom it is handed to. 0: not ours, 1: deleted, 2: handed on.
-- Called before it is changed: what is refused, for lack of a right or of memory, has then changed nothing.
local function first_in_line()
    return redis.call('zrange', KEYS[2], 0, 0)[1]
end
local function call(word, place, rest)
    return redis.call('publish', place:sub(33), word .. ' ' .. place:sub(1, 32) .. rest)
end
local ours = redis.call('mget', KEYS[1])[1] == ARGV[1]
if ARGV[2] ~= '' then
    local me = ARGV[1] .. ARGV[2]
    local first = first_in_line()
    redis.call('zrem', KEYS[2], me)
    if first == me and not ours then
        local next_one = first_in_line()
        if next_one then
            call('first', next_one, '')
        end
    end
end
if not ours then
    return 0
end
local first = first_in_line()
while first do
    local heard = call('take', first, ' ' .. ARGV[1])
    redis.call('zrem', KEYS[2], first)
    local second = first_in_line()
    if heard > 0 then
        redis.call('set', KEYS[1], first:sub(1, 32), 'px', ARGV[3])
        if second then
            call('first', second, '')
        end
        return 2
    end
    first = second
end
redis.call('del', KEYS[1])
return 1
