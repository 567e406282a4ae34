-- SPDX-License-Identifier: BSL-1.0
-- Names the kind of owner of a key that GET cannot read (docs/protocol.md, rules S4 and P1). KEYS[1] the lock. Returns
-- "READERS", "PERMITS"; "NONE": it is gone; the value if it is a string by now. An error: other data. Changes nothing.
-- rule S4
local owner = redis.call('mget', KEYS[1])[1]
if owner then
    return owner
end
local left = redis.call('pttl', KEYS[1])
if left == -2 then
    return redis.status_reply('NONE')
end
if redis.call('type', KEYS[1]).ok == 'hash' then
    if left >= 0 and tonumber(redis.call('hget', KEYS[1], 'next')) then
        return redis.status_reply('PERMITS')
    end
end
local ends = redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if left >= 0 and math.abs(ends - now - left) <= 1000 then
    return redis.status_reply('READERS')
end
return redis.error_reply('WRONGTYPE this is no lock: ' .. KEYS[1])
