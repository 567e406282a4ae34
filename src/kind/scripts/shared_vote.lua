-- A reader's vote (docs/protocol.md, rules S1 to S4). KEYS: the lock, its gate. ARGV: nonce, milliseconds of the lock,
-- milliseconds of a mark. 1: granted. "HELD <milliseconds left> 0 <who>": refused, and a reader's mark is left.
-- Readers are members of a sorted set, each with its own end, and the key ends with the last of them.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function mark(who)
    return tonumber(redis.call('zscore', KEYS[2], who) or 0)
end
local kind = redis.call('type', KEYS[1]).ok
local left = redis.call('pttl', KEYS[1])
local barred = mark('writer') > now and mark('turn') <= now
if not barred and (kind == 'none' or kind == 'zset' and left ~= -1) then
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
    redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
    redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
    return 1
end
if kind == 'none' then
    left = mark('writer') - now
end
redis.call('zadd', KEYS[2], now + ARGV[3], 'reader')
redis.call('pexpire', KEYS[2], ARGV[3] * 2)
local who = kind == 'string' and redis.call('mget', KEYS[1])[1] or barred and 'WRITER' or ''
return redis.status_reply(string.format('HELD %.0f 0 ', left) .. who:sub(1, 8))
