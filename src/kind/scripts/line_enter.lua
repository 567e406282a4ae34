-- SPDX-License-Identifier: BSL-1.0
-- Stands in line where all meet (docs/protocol.md, rules L1 and L3). KEYS: the lock, its line. ARGV: nonce, place,
-- milliseconds of the line, how many may stand in it.
-- A place is what a member of the line has behind its nonce: seven digits, the milliseconds that the lock is kept for it,
-- and the channel on which its owner is called. Whose channel nobody hears has gone.
-- 1: ours to claim. "LINE <milliseconds left> <how many before us> <owner>". "FULL": not let in.
-- An heir is called before a key is changed: where that is refused, nothing has been.
-- with line.lua
local me = ARGV[1] .. ARGV[2]
local owner = redis.call('mget', KEYS[1])[1]
if owner == ARGV[1] then
    return 1
end
-- A server that is out of memory refuses this, which changes nothing. Behind a write that needs no memory it would not
-- refuse the rest: some would be served there, and none let in.
redis.call('zadd', KEYS[2], 'xx', 0, '')
local left = redis.call('pttl', KEYS[1])
while left == -2 do
    local first, second = front(KEYS[2])
    local heir = first or me
    if heir == me or call('take', heir, '0 ') > 0 then
        give(KEYS[1], KEYS[2], heir, second)
        if heir == me then
            return 1
        end
        left = tonumber(heir:sub(33, 39))
        owner = redis.call('mget', KEYS[1])[1] -- so that the next change is heard of
    else
        redis.call('zrem', KEYS[2], first)
    end
end
local before = redis.call('zrank', KEYS[2], me)
if not before then
    before = redis.call('zcard', KEYS[2])
    if before >= tonumber(ARGV[4]) then
        return redis.status_reply('FULL')
    end
    local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')[2] or '0'
    redis.call('zadd', KEYS[2], string.format('%.0f', last + 1), me)
end
redis.call('pexpire', KEYS[2], ARGV[3])
return redis.status_reply(string.format('LINE %d %d ', left, before) .. (owner or ''):sub(1, 8))
