#define BOOST_TEST_MODULE model
#include <boost/test/included/unit_test.hpp>
