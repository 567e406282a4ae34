-- SPDX-License-Identifier: BSL-1.0
-- Sets the expiry of a key that was just written. If the right to do so is missing, another command undoes that write: no
-- key is left that never expires.
-- rules S1 and S12
local function expire(key, moment, ...)
    local said = redis.pcall('pexpireat', key, moment)
    if said ~= 1 then
        redis.call(...)
        error(said)
    end
end
-- Deletes a string that was given up, to make room for another type. The command that writes that type is tried first. If it
-- is refused for another reason than the wrong type, nothing has been changed.
local function make_room(...)
    if kind ~= 'string' then
        return
    end
    local tried = redis.pcall(...)
    if not tried.err:find('WRONGTYPE', 1, true) then
        error(tried)
    end
    redis.call('del', KEYS[1])
    kind = 'none'
end
-- A member that ends later keeps its end.
local function take_as_readers(nonces, milliseconds)
    local ends, write = now + milliseconds, {'zadd', KEYS[1], 'gt'}
    for i, nonce in ipairs(nonces) do
        write[2 * i + 2] = ends
        write[2 * i + 3] = nonce
    end
    make_room(unpack(write))
    redis.call(unpack(write))
    last_end = math.max(last_end, ends)
    expire(KEYS[1], last_end, 'zrem', KEYS[1], unpack(nonces))
    kind = 'zset'
end
