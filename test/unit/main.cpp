#define BOOST_TEST_MODULE unit
#include <boost/test/included/unit_test.hpp>
