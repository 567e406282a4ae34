-- Stands in line where all meet (docs/protocol.md, rules L1 and L3). KEYS: the lock, its line. ARGV: nonce, place,
-- milliseconds of the line, how many may stand in it.
-- A place is what a member of the line has behind its nonce: seven digits, the milliseconds that the lock is kept for it,
-- and the channel on which its owner is called. Whose channel nobody hears has gone.
-- 1: ours to claim. "LINE <milliseconds left> <how many before us> <owner>". "FULL": not let in.
-- An heir is called before a key is changed: where that is refused, nothing has been.
local me = ARGV[1] .. ARGV[2]
local owner = redis.call('mget', KEYS[1])[1]
if owner == ARGV[1] then
    return 1
end
local function take(heir)
    return redis.call('publish', heir:sub(40), 'take ' .. heir:sub(1, 32) .. ' 0 ')
end
-- A hint: without the right to say it nothing is lost.
local function tell_first(place, left)
    while place and redis.pcall('publish', place:sub(40), 'first ' .. place:sub(1, 32) .. ' ' .. left) == 0 do
        redis.call('zrem', KEYS[2], place)
        place = redis.call('zrange', KEYS[2], 0, 0)[1]
    end
end
local left = redis.call('pttl', KEYS[1])
while left == -2 do
    local places = redis.call('zrange', KEYS[2], 0, 1)
    local first, second = places[1], places[2]
    local heir = first or me
    if heir == me or take(heir) > 0 then
        if first then
            redis.call('zrem', KEYS[2], first)
        end
        left = tonumber(heir:sub(33, 39))
        redis.call('set', KEYS[1], heir:sub(1, 32), 'px', left)
        tell_first(second, heir:sub(33, 39))
        if heir == me then
            return 1
        end
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
