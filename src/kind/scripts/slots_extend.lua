-- SPDX-License-Identifier: BSL-1.0
-- Renews slots of a semaphore, only while all of them are ours (docs/protocol.md, rule P5). KEYS: the lock, the ends of its
-- slots. ARGV: nonce, milliseconds, slots. 1: renewed, 0: not ours.
-- With a fence (rules P5, F2 and F4) also KEYS: the fences of the slots, the node's marker. ARGV: milliseconds of the fences,
-- token, "raise" to set the fences alone, the marker as it was on connecting (empty: not looked at). A higher fence says that
-- somebody came after us. 2: a fence was gone, and is set again. "STRANGER": another node than expected. An error: a fence is
-- no number of ours.
-- with slots.lua
-- with slot_fences.lua
local refused = see_fences(ARGV[7])
if refused then
    return refused
end
local wrong, open = see_slots()
if wrong then
    return wrong
end
local slots = words(ARGV[3])
if not open then
    return 0
end
for _, owner in ipairs(redis.call('hmget', KEYS[1], unpack(slots))) do
    if owner ~= ARGV[1] then
        return 0
    end
end
local known = true
if fences then
    local token, highest = tonumber(ARGV[5]), nil
    highest, known = highest_of(slots)
    if not highest then
        return no_fence()
    end
    if highest > token then
        return 0
    end
    redis.call('pexpire', fences, ARGV[4]) -- a server that is out of memory refuses HSET unless something has been changed
    set_fences(slots, token, ARGV[4])
    if ARGV[6] == 'raise' then
        return 1
    end
end
renew(slots, tonumber(ARGV[2]))
return known and 1 or 2
